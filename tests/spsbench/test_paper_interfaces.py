"""The interfaces of the Nightjar paper as data: recorded conversations, and the rules of the paper, one a test.

The rules are those of sections 4.1, 4.2, 5.1 and 5.2 and of appendix B, as far as their text gives them; its figures are lost.
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
from njrt.interface import Broke, Handling, Interface
from njrt.messages import Request, ToolCall, ToolMessage, UserMessage
from njrt.testing import Said, Scripted, call
from spsbench.interfaces import INTERFACES, ISOLATED, SHARED_STATE

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
    interface: Interface, script: Sequence[Said], x: Any = None
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


def test_4_1_values_cross_by_serialization_and_reification() -> None:
    """1) the values that cross the boundary: JSON becomes typed values of the program, and objects references."""
    seen: list[Any] = []

    def keep(numbers: tuple[int, ...], ratio: float) -> None:
        """Keep them."""
        seen.append((numbers, ratio))

    tools = Interface("tools", [keep])
    play(tools, [call("keep", numbers=[1, 2], ratio=1), call("done", y=1), call("done", y=1)])
    assert seen == [((1, 2), 1.0)]


def test_4_1_an_effect_is_a_distinguished_request() -> None:
    """2) effects: what is no request of the interface does nothing, and the prompt is told so."""
    _, told, _ = play(SHARED_STATE, [call("erase", var="x"), *Y_IS_4["baseline"]])
    assert told[0].startswith("there is no tool `erase`")


def count_calls() -> tuple[Interface, list[str]]:
    calls: list[str] = []

    def resume() -> str:
        """Resume."""
        calls.append("resume")
        return "resumed"

    def cancel() -> Broke:
        """Cancel."""
        calls.append("cancel")
        return Broke()

    def clean(run: Handling[Any]) -> None:
        calls.append("finally")

    return Interface("both", [resume, cancel], finally_=clean), calls


def test_4_1_a_handler_resumes_the_prompt_from_its_checkpoint() -> None:
    """3) handlers; the prompt is checkpointed at an effect and restored with the result of the handler."""
    interface, _ = count_calls()
    _, told, model = play(interface, [call("resume"), call("cancel")])
    first, second = model.requests[:2]
    assert second.messages[: len(first.messages)] == first.messages
    assert told == ["resumed"]


def test_4_1_a_handler_cancels_the_prompt_which_is_cleaned_up() -> None:
    """Nothing behind a cancelling effect is performed, the model is not asked again, and `finally` has run."""
    interface, calls = count_calls()
    ended, _, model = play(interface, [[call("cancel"), call("resume")]])
    assert (len(model.requests), calls) == (1, ["cancel", "finally"])
    assert ended == "UnboundLocalError"  # the loop was left before `y` was bound


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


# ── 5.1 and 5.2: outputs, and the specialization to Python ───────────────────────────────────────


def test_5_1_outputs_must_be_defined_at_the_end() -> None:
    _, told, _ = play(SHARED_STATE, [call("done"), *Y_IS_4["baseline"], call("done")])
    assert told[0].startswith("`y` is not bound yet")


def test_5_2_eval_and_exec_replace_scopes_and_heap_and_four_jumps_replace_goto() -> None:
    general = {name for name, _ in SHARED_STATE.list_effects()}
    python = {name for name, _ in INTERFACES["shared-python"].list_effects()}
    assert general - python == {"lookup", "assign", "deref", "ref", "setref", "goto"}
    assert python - general == {"eval", "exec", "break", "continue", "return", "raise"}


# ── appendix B ───────────────────────────────────────────────────────────────────────────────────


def test_b_1_a_prompt_evaluates_to_a_value_or_an_effect() -> None:
    """nat-ret: without effects left to handle, the prompt ends with the values of its outputs, and `finally` runs."""
    interface, calls = count_calls()
    ended, _, _ = play(interface, [call("resume"), call("done", y=4), call("done", y=4)])
    assert ended == ([2], 4, 3)
    assert calls == ["resume", "finally", "finally"]


@pytest.mark.parametrize("add", [lambda a, b: a + b])
def test_b_2_in_tool_use_every_handler_resumes(add: Callable[[int, int], int]) -> None:
    def plus(a: int, b: int) -> int:
        """Add two numbers."""
        return add(a, b)

    tools = Interface("calculator", [plus], "Use `plus`.")
    ended, told, model = play(tools, [call("plus", a=1, b=2), call("done", y=3), call("done", y=3)])
    assert (ended[1], told[0]) == (3, "3")
    assert "Use `plus`." in model.requests[0].system


def test_b_3_with_isolated_state_values_cross_and_nothing_else() -> None:
    ended, _, model = play(
        ISOLATED, [call("lookup", var="x"), call("done", y=4), call("done", y=4)]
    )
    assert ended == ([2], 4, 3)
    assert [tool.name for tool in model.requests[0].tools] == ["done"]
    assert "[2]" in str(model.requests[0].messages[0])
