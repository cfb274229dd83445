"""The interfaces of the Nightjar paper as data: recorded conversations, and the rules of the paper, one a test.

The rules are those of sections 4.1, 4.2 and 5.2, as far as their text gives them; its figures are lost. tests/block/test_interfaces.py
has those of 4.1, 5.1 and appendix B that hold for all interfaces.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import njrt
from case_programs import read_program
from njc.compiler.compiler import compile_source
from njc.compiler.frontend.source import SourceFile
from njrt.data.options import Options
from njrt.testing import Request, Said, Scripted, ToolCall, ToolMessage, UserMessage, call
from spsbench.interfaces import INTERFACES, SHARED_STATE

SOURCE = read_program("paper_interfaces")


def load() -> dict[str, Any]:
    """Return the functions of the program."""
    source = SourceFile("paper.njpy", SOURCE.encode())
    compiled = compile_source(source, project=Options(authority="code")).output
    assert compiled is not None
    names: dict[str, Any] = {"__name__": "paper"}
    exec(compiled, names)
    return names


def ref(address: int) -> dict[str, Any]:
    return {"type": "Ref", "addr": address}


def play(
    interface: njrt.Interface, script: Sequence[Said], x: Any = None
) -> tuple[Any, list[str], Scripted]:
    """Run the program with a script; give what it ends with, what the model was told, and the model."""
    model = Scripted([*script, *[call("done")] * 3])
    x = [2] if x is None else x
    with njrt.using(model=model):
        try:
            ended: Any = load()["by_interface"](interface, x)
        except Exception as error:
            ended = type(error).__name__
    return ended, list_told(model.requests), model


def list_told(requests: Sequence[Request]) -> list[str]:
    """What the model was told after its calls."""
    last = [request.messages[-1] for request in requests]
    return [
        result.text
        for message in last
        if isinstance(message, ToolMessage)
        for result in message.results
    ]


Y_IS_4: dict[str, list[ToolCall]] = {
    "baseline": [call("assign", var="y", val=4)],
    "isolated-eval": [call("assign", var="y", val=4)],
    "shared-eval": [call("assign", var="y", val=4)],
    "shared-python": [call("exec", code="y = 4")],
    "nightjar": [call("exec", code="y = 4")],
}
TRANSCRIPTS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases/spsbench/paper_effects.jsonl")
    .read_text()
    .splitlines()
]
"""Conversations: the effects, the value of `x`, the calls of the model, how the program ends, and what the model is told."""


class Point:
    """A point."""

    def __init__(self, left: int) -> None:
        self.left = left
        self.names = ["a"]

    def __repr__(self) -> str:
        return f"Point({self.left}, {self.names})"

    def move(self) -> None: ...


VALUES: dict[str, Callable[[], Any]] = {
    "list": lambda: [2],
    "dict": lambda: {"a": [1], "b": None},
    "point": lambda: Point(3),
    "text": lambda: "abc",
    "set": lambda: {3},
}


@pytest.mark.parametrize(
    "case", TRANSCRIPTS, ids=lambda case: f"{case['effects']} {case['calls']}"[:90]
)
def test_a_conversation_is_as_recorded(case: dict[str, Any]) -> None:
    """The same values, jumps, results and refusals as the effect sets of njc 0.2 gave, up to words."""
    calls = [[call(name, **arguments) for name, arguments in turn] for turn in case["calls"]]
    ways = [Y_IS_4[case["effects"]], call("done"), Y_IS_4[case["effects"]]]
    ended, told, _ = play(INTERFACES[case["effects"]], [*calls, *ways], VALUES[case["x"]]())
    assert (ended if isinstance(ended, str) else repr(ended)) == case["ended"]
    assert told[: len(case["told"])] == case["told"]


JUMPS = ["break", "continue", "raise", "return"]
CALLS = {
    "baseline": ["assign", "deref", "done", "goto", "lookup", "ref", "setref"],
    "isolated-eval": sorted(["assign", "deref", "done", "eval", "lookup", "ref", "setref", *JUMPS]),
    "shared-eval": sorted(["assign", "deref", "done", "eval", "setref", *JUMPS]),
    "shared-python": sorted(["done", "eval", "exec", *JUMPS]),
    "nightjar": sorted(["done", "eval", "exec", *JUMPS]),
}


@pytest.mark.parametrize("name", INTERFACES)
def test_the_first_request_of_a_set(name: str) -> None:
    """Its calls, the legal jumps, and the values of the inputs only in `nightjar`."""
    _, _, model = play(INTERFACES[name], Y_IS_4[name])
    assert sorted(tool.name for tool in model.requests[0].tools) == CALLS[name]
    (opening,) = model.requests[0].messages
    assert isinstance(opening, UserMessage)
    assert ("x: list[int]" in opening.text) == (name == "nightjar")
    assert ("Allowed jumps: `break`, `continue`" in opening.text) == (name != "baseline")


def test_the_interface_holds_for_all_blocks_inside() -> None:
    model = Scripted([call("exec", code="y = 4"), call("done")] * 2)
    with njrt.using(model=model, interface=INTERFACES["shared-python"]):
        assert load()["by_set"]([2]) == ([2], 4, 3)


# ── 4.1: natural function interfaces ─────────────────────────────────────────────────────────────


def test_4_1_a_handler_resumes_the_prompt_from_its_checkpoint() -> None:
    """3) handlers; the prompt is checkpointed at an effect and restored with the result of the handler."""

    def resume() -> str:
        """Resume."""
        return "resumed"

    _, told, model = play(njrt.Interface("one", [resume]), [call("resume"), call("done", y=1)])
    first, second = model.requests[:2]
    assert second.messages[: len(first.messages)] == first.messages
    assert told[0] == "resumed"


# ── 4.2: shared program state ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["hidden", "total", "load", "len"])
def test_4_2_lookup_reads_the_variables_of_the_prompt_only(name: str) -> None:
    _, told, _ = play(
        SHARED_STATE, [call("lookup", var="x"), call("lookup", var=name), *Y_IS_4["baseline"]]
    )
    assert told[0] == '{"type": "Ref", "addr": 1, "class": "list"}'
    assert told[1].startswith(f"there is no variable `{name}`")


def test_4_2_assign_binds_outputs_only_and_the_binding_stays() -> None:
    ended, told, _ = play(
        SHARED_STATE,
        [
            call("assign", var="x", val=1),
            call("assign", var="y", val=5),
            call("lookup", var="y"),
            call("done"),
        ],
    )
    assert told[:3] == ["`x` is not an output; the outputs are: y", "Success", "5"]
    assert ended[1] == 5


def test_4_2_references_are_the_objects_of_the_program() -> None:
    x = [2]
    script = [
        call("lookup", var="x"), call("setref", ref=ref(1), val=[8]), call("ref", val=[1]),
        call("assign", var="y", val=ref(1)), call("deref", ref=ref(99)),
    ]  # fmt: skip
    (ended, told, _) = play(SHARED_STATE, script, x)
    assert ended[0] is ended[1] is x
    assert x == [8]
    assert told[4].startswith("ValueError: there is no reference 99")


def test_4_2_goto_jumps_and_does_not_resume() -> None:
    for label, ended in [("break", "UnboundLocalError"), ("return", None), ("raise", "ValueError")]:
        value = "ValueError: no" if label == "raise" else None
        found, told, model = play(SHARED_STATE, [call("goto", label=label, val=value)])
        assert (found, told, len(model.requests)) == (ended, [], 1)


def test_4_2_only_labels_that_are_valid_in_the_place_of_the_prompt() -> None:
    model = Scripted([call("goto", label="break"), call("goto", label="return"), call("done")])
    with njrt.using(model=model):
        njrt.run("natural\nLeave.", lambda: (), at="a.njpy:1", interface=SHARED_STATE)
    assert list_told(model.requests) == [
        "`break` is not possible here; the labels are raise",
        "`return` is not possible here; the labels are raise",
    ]


# ── 5.2: the specialization to Python ────────────────────────────────────────────────────────────


def test_5_2_eval_and_exec_replace_scopes_and_heap_and_four_jumps_replace_goto() -> None:
    general = {name for name, _ in SHARED_STATE.list_effects()}
    python = {name for name, _ in INTERFACES["shared-python"].list_effects()}
    assert general - python == {"lookup", "assign", "deref", "ref", "setref", "goto"}
    assert python - general == {"eval", "exec", "break", "continue", "return", "raise"}
