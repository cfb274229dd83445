'''The natural function interfaces of the Nightjar paper, written as `njrt.interface` data.

    TOOLS = make_tool_interface("calendar", [add_event, find_events])      tool use (appendix B.2)
    """natural(interface=SHARED_STATE)                                     shared program state (4.2)
    """natural(interface=INTERFACES["shared-python"])                      specialized to Python (5.2)

A handler that returns an effect from `njrt.effects` leaves it to the runtime. These interfaces have the same tools as
the runtime's effect sets; `tests/spsbench/test_paper_interfaces.py` compares them and tests the paper's rules.
'''

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from njrt.agent.handlers import make_isolated_scope
from njrt.effects import (
    Assign,
    BreakLoop,
    ContinueLoop,
    Deref,
    Eval,
    Exec,
    Goto,
    Lookup,
    RaiseError,
    ReturnValue,
    SetRef,
)
from njrt.effects import Ref as MakeReference
from njrt.execution.execute import Failed, Jumped, Ran, prepare
from njrt.execution.execute import execute as execute_snippet
from njrt.interface import (
    Aliases,
    Answer,
    Completed,
    Handler,
    Handling,
    Interface,
    ReferenceNumber,
    Refusal,
    Wire,
)
from njrt.rendering.describe import render_value

VALUES = """\
A value is JSON, such as 12.5, "text", true or [1, 2] (a dict is {"type": "dict", "items": [{"key": K, "value": V}]}), or a
reference {"type": "Ref", "addr": N} to an object. When all outputs are bound, call `done`."""

JUMPS = """\
`raise`, `break`, `continue` and `return` jump in the program, as far as Python allows it there; `raise` and `return` take the
name of a variable. When all outputs are bound, call `done`."""


# ── shared scopes ────────────────────────────────────────────────────────────────────────────────


def lookup(var: Annotated[str, Aliases("variable", "name")]) -> Lookup:
    """Read a variable."""
    return Lookup(var)


def assign(
    var: Annotated[str, Aliases("variable", "name")], val: Annotated[Wire, Aliases("value")]
) -> Assign:
    """Bind a variable to a value."""
    return Assign(var, val)


def assign_output(
    run: Handling[Any],
    var: Annotated[str, Aliases("variable", "name")],
    val: Annotated[Wire, Aliases("value")],
) -> Assign | Refusal:
    """Bind a variable to a value."""
    if var not in run.outputs:
        return Refusal(f"`{var}` is not an output; the outputs are: {', '.join(run.outputs)}")
    return Assign(var, val)


# ── shared heap ──────────────────────────────────────────────────────────────────────────────────


def deref(ref: Annotated[ReferenceNumber, Aliases("reference")]) -> Deref:
    """Show the object behind a reference, one level deep."""
    return Deref(ref)


def make_reference(val: Annotated[Wire, Aliases("value")]) -> MakeReference:
    """Make an object of a value and give a reference to it."""
    return MakeReference(val)


def setref(
    ref: Annotated[ReferenceNumber, Aliases("reference")], val: Annotated[Wire, Aliases("value")]
) -> SetRef:
    """Update the object behind a reference in place: a list, dict or set takes the items of the value, any other object the attributes of a dict."""
    return SetRef(ref, val)


# ── shared control state ─────────────────────────────────────────────────────────────────────────


def goto(label: str, val: Annotated[Wire, Aliases("value")] = None) -> Goto:
    """Jump to a label of the program: break, continue, return (val is the value) or raise (val is a reference to an exception, or its class and message as 'ValueError: message')."""
    return Goto(label, val)


def end() -> Completed:
    """End the instruction; all its outputs are bound."""
    return Completed()


# ── the specialization to Python ─────────────────────────────────────────────────────────────────


def evaluate(expr: Annotated[str, Aliases("expression", "code")]) -> Eval:
    """Evaluate one Python expression and show its value; it binds nothing."""
    return Eval(expr)


def evaluate_alone(expr: Annotated[str, Aliases("expression", "code")]) -> Answer | Refusal:
    """Evaluate one Python expression and show its value; it binds nothing."""
    prepared = prepare(expr.strip(), make_isolated_scope(), expression=True)
    if isinstance(prepared, Refusal):
        return prepared
    match execute_snippet(prepared):
        case Ran(value):
            return Answer(render_value(value))
        case Failed(message):
            return Refusal(message)
        case Jumped():
            raise AssertionError("an expression does not jump")


def execute(code: str) -> Exec:
    """Execute Python statements."""
    return Exec(code)


def break_loop() -> BreakLoop:
    """Break out of the program's loop."""
    return BreakLoop()


def continue_loop() -> ContinueLoop:
    """Go on with the next round of the program's loop."""
    return ContinueLoop()


def return_value(value: Annotated[str | None, Aliases("variable", "var")] = None) -> ReturnValue:
    """Return the value of a variable from the program's function; null returns nothing."""
    return ReturnValue(value)


def raise_error(error: Annotated[str, Aliases("variable", "var")]) -> RaiseError:
    """Raise, in the program, the exception that a variable holds."""
    return RaiseError(error)


# ── the interfaces ───────────────────────────────────────────────────────────────────────────────


def make_tool_interface(name: str, tools: Sequence[Handler], rules: str = "") -> Interface:
    """Return tool use as an interface: all handlers resume, and the prompt ends by returning values (appendix B.2)."""
    return Interface(name, tools, rules)


ISOLATED = Interface("isolated", [])
"""Isolated program state: inputs and outputs are passed as values, and there are no effects (B.3)."""

_JUMPS: Mapping[str, Handler] = {
    "raise": raise_error,
    "break": break_loop,
    "continue": continue_loop,
    "return": return_value,
}
_DATA: Mapping[str, Handler] = {
    "lookup": lookup,
    "assign": assign,
    "deref": deref,
    "ref": make_reference,
    "setref": setref,
}
_PYTHON: Mapping[str, Handler] = {"exec": execute, "eval": evaluate, **_JUMPS, "done": end}

SHARED_STATE = Interface(
    "baseline", {**_DATA, "assign": assign_output, "goto": goto, "done": end}, VALUES
)
"""Shared program state (4.2): seven effects on the program's scopes, heap and control state."""

INTERFACES: Mapping[str, Interface] = {
    "baseline": SHARED_STATE,
    "isolated-eval": Interface(
        "isolated-eval",
        {**_DATA, "eval": evaluate_alone, **_JUMPS, "done": end},
        f"{VALUES}\n{JUMPS}",
    ),
    "shared-eval": Interface(
        "shared-eval",
        {
            "eval": evaluate,
            "assign": assign,
            "deref": deref,
            "setref": setref,
            **_JUMPS,
            "done": end,
        },
        f"{VALUES}\n{JUMPS}",
    ),
    "shared-python": Interface("shared-python", _PYTHON, JUMPS),
    "nightjar": Interface("nightjar", _PYTHON, JUMPS),
}
"""The paper's effect sets, by their names in the option `effects`."""
