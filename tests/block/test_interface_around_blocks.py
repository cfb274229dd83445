"""`njrt.using(interface=...)`: all blocks inside are behind an interface, whatever they were compiled to."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from programs import PlainProgram

import njrt
from case_programs import read_program
from njrt.effects import Perform
from njrt.interface import Handling, Run
from njrt.testing import Scripted, call, run
from waiting import run_threads

NOTES: list[str] = []


def note(text: str) -> str:
    """Note a text."""
    NOTES.append(text)
    return "noted"


def run_code(code: str) -> Run:
    """Run code."""
    return Run(code, done=False)


NOTING = njrt.Interface("noting", [note])
CODING = njrt.Interface("coding", [run_code])
PROGRAM = PlainProgram(read_program("interface_around_blocks"))

BLOCKS: list[tuple[str, Any, dict[str, Any], Any]] = [
    ("answers", "hi", {"mood": "calm"}, "calm"),
    ("must_answer", "hi", {"mood": "calm"}, "calm"),
    ("is_strict", "hi", {"mood": "calm"}, "calm"),
    ("has_code", ["a"], {"count": 1}, 1),
    ("must_have_code", "hi", {"mood": "calm"}, "calm"),
    ("checks", "two words", {"count": 2}, 2),
    ("loops", ["a"], {}, "a"),
]


def names(model: Scripted) -> list[list[str]]:
    """Return the tools in each request, by name."""
    return [[tool.name for tool in request.tools] for request in model.requests]


@pytest.mark.parametrize(("function", "argument", "outputs", "ended"), BLOCKS)
def test_every_block_has_the_effects_of_the_interface(
    function: str, argument: Any, outputs: dict[str, Any], ended: Any
) -> None:
    NOTES.clear()
    says = [call("run", code="1", done=True), call("note", text="n"), call("done", **outputs)]
    with njrt.watch() as watch:
        assert PROGRAM.call(function, argument, says=says, interface=NOTING) == ended
    assert names(PROGRAM.model) == [["note", "done"]] * 3
    assert NOTES == ["n"]
    assert "there is no tool `run`" in PROGRAM.told()[1]
    assert all(not isinstance(done.effect, njrt.Touch) for done in watch.runs[0].effects)
    assert isinstance(watch.runs[0].effects[-1].effect, Perform)


def test_no_block_gets_out_of_the_interface_by_asking_for_code() -> None:
    says = [{"needs_code": "a loop"}, "```python\nmood = 'x'\n```", call("done", mood="calm")]
    assert PROGRAM.call("answers", "hi", says=says, interface=NOTING) == "calm"
    assert names(PROGRAM.model) == [["note", "done"]] * 3


def test_the_interface_of_a_block_and_the_nearest_with_come_first() -> None:
    says = [call("done", mood=mood) for mood in "abc"]
    with PROGRAM.saying(says, interface=CODING) as program:
        program["OWN"] = NOTING
        program["has_its_own"]("hi")
        program["answers"]("hi")
        with njrt.using(interface=NOTING), njrt.using(max_calls=3):
            program["answers"]("hi")
    assert [shown[0] for shown in names(PROGRAM.model)] == ["note", "run_code", "note"]


def test_after_the_with_blocks_are_as_compiled() -> None:
    with PROGRAM.saying([call("done", mood="a"), {"mood": "b"}]) as program:
        with njrt.using(interface=NOTING):
            program["answers"]("hi")
        assert program["answers"]("hi") == "b"
    assert names(PROGRAM.model)[1] == []


def test_static_code_runs_as_it_is() -> None:
    x, y = 2, None
    with njrt.using(interface=NOTING, model=Scripted([])):
        njrt.run(
            "natural\nDouble <x> into <:y>.", lambda: (x, y), writes="y", at="a:1", code="y = 2 * x"
        )
    assert y == 4


@pytest.mark.parametrize("options", [{"authority": "strict"}, {}])
def test_only_a_strict_block_refuses_code_of_handlers(options: dict[str, Any]) -> None:
    says = [call("run_code", code="1 + 1"), call("done", mood="calm")]
    if options:
        with pytest.raises(njrt.PolicyError, match='authority="strict" does not allow'):
            PROGRAM.call("answers", "hi", says=says, interface=CODING, **options)
    else:
        assert PROGRAM.call("answers", "hi", says=says, interface=CODING) == "calm"
        assert PROGRAM.told()[1] == "2"
        with pytest.raises(njrt.PolicyError):
            PROGRAM.call("is_strict", "hi", says=says, interface=CODING)


def test_it_holds_in_coroutines_generators_and_carried_threads() -> None:
    found: list[Any] = []
    says = lambda request: call("done", mood=request.tools[0].name)  # noqa: E731
    with PROGRAM.saying(says, interface=NOTING) as program:
        found.append(asyncio.run(program["waits"]("hi")))
        found += program["gives"](["a", "b"])
        run_threads(njrt.carry(lambda: found.append(program["answers"]("hi"))))
    assert found == ["note"] * 4


def test_blocks_that_a_handler_calls_are_inside_too() -> None:
    program = PROGRAM.load()

    def ask(run: Handling[Any]) -> str:
        """Ask another block."""
        result: str = program["answers"]("inner")
        return result

    model = Scripted([call("ask"), call("done", mood="in"), call("done", mood="out")])
    with njrt.using(model=model, interface=njrt.Interface("asking", [ask])):
        assert program["answers"]("outer") == "out"
    assert names(model) == [["ask", "done"]] * 3


@pytest.mark.parametrize("wrong", ["noting", NOTING.effects, njrt.Interface, 0])
def test_anything_else_is_an_error(wrong: Any) -> None:
    with pytest.raises(njrt.ConfigurationError, match=r"interface must be an njrt\.Interface, not"):
        PROGRAM.call("answers", "hi", says=[], interface=wrong)


@pytest.mark.parametrize(
    ("has", "is_shown"),
    [({}, True), ({"shows_values": False}, False), ({"shows_values": True}, True)],
)
def test_the_values_of_inputs_are_shown_unless_the_interface_says_no(
    has: dict[str, Any], is_shown: bool
) -> None:
    interface = njrt.Interface("noting", [note], **has)
    PROGRAM.call("answers", "good day", says=[call("done", mood="x")], interface=interface)
    lines = PROGRAM.told()[0].split("---\n")[1].splitlines()
    assert lines == [
        f"text{': str = ' * is_shown}{repr('good day') * is_shown}",
        "mood: str, to be bound",
    ]


def test_jumps_are_listed_if_effects_have_their_names() -> None:
    def leave() -> njrt.interface.Broke:
        """Leave the loop."""
        return njrt.interface.Broke()

    for effects, is_listed in (({"break": leave}, True), ({"leave": leave}, False)):
        interface = njrt.Interface("leaving", effects)
        (name,) = effects
        assert PROGRAM.call("loops", ["a", "b"], says=[call(name)], interface=interface) == "a"
        assert ("Allowed jumps: `break`" in PROGRAM.told()[0]) == is_listed


SETS = ["nightjar", "shared-python", "shared-eval", "isolated-eval", "baseline"]


@pytest.mark.parametrize("effects", SETS)
def test_the_papers_sets_are_an_error_that_names_the_page(
    effects: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = rf'`effects="{effects}"` was removed in njc 0.3: .*interfaces of spsbench.*docs/migrating.md'
    program = PROGRAM.load()
    with pytest.raises(njrt.ConfigurationError, match=f"njrt.using: .*{words}"):
        njrt.using(effects=effects).__enter__()
    with njrt.using(model=Scripted([run("y = 1", done=True)])):
        x = y = None
        with pytest.raises(njrt.ConfigurationError, match=words):
            njrt.run("natural\n<x> <:y>", lambda: (x, y), writes="y", at="a:1", effects=effects)
        with pytest.raises(njrt.ConfigurationError, match=words):
            njrt.run("natural\n<x> <:y>", lambda: (x, y), at="a:1", project={"effects": effects})
        monkeypatch.setenv("NJC_EFFECTS", effects)
        with pytest.raises(njrt.ConfigurationError, match=f"NJC_EFFECTS: .*{words}"):
            program["has_code"]([])
