'''The natural function interfaces of the Nightjar paper, written as `njrt.Interface`s.

    with njrt.using(interface=INTERFACES["nightjar"]): ...         all blocks, in Python (5.2)
    """natural(interface=SHARED_STATE)                             shared program state (4.2)
    TOOLS = Interface("calendar", [add_event])                     tool use (appendix B.2)

Names and arguments follow the paper and its published traces; older names of an argument are
accepted. `tests/spsbench/test_paper_interfaces.py` tests the paper's rules, one a test.
'''

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal

from njrt.block.agent.code_runner import join_parts, mark_printed
from njrt.block.agent.interface_arguments import format_reference
from njrt.block.agent.interface_handler import make_isolated_scope
from njrt.block.agent.prompt import JUDGEMENT_RULES
from njrt.execution.execute import Failed, Jumped, Ran, prepare
from njrt.execution.execute import execute as execute_snippet
from njrt.execution.syntax import parse_python
from njrt.execution.tracebacks import format_syntax_error
from njrt.interface import (
    Aliases,
    Answer,
    Broke,
    Completed,
    Continued,
    Handler,
    Handling,
    Interface,
    Raised,
    Refusal,
    Returned,
    Run,
)
from njrt.values.introspection import get_class_name, is_a, is_exactly, is_exception_class
from njrt.values.rendering.describe import render_value
from spsbench.references import (
    JSON_SCALARS,
    Cell,
    Heap,
    JumpValue,
    Reference,
    Wire,
    decode_attributes,
    decode_wire,
    encode_level,
    encode_wire,
    format_wire,
    read_number,
    set_attributes,
    update_in_place,
)

EffectSet = Literal[
    "direct", "baseline", "isolated-eval", "shared-eval", "shared-python", "nightjar"
]
"""The effects of a method: Python code as in njc, or one of the paper's sets."""

JUMPS = """\
`raise`, `break`, `continue` and `return` jump in the program, as far as they are listed; `raise`
and `return` take the name of a variable. When all outputs are bound, call `done`."""

PYTHON = f"""\
{JUDGEMENT_RULES}
`exec` runs statements: with them you bind variables and change objects. `eval` only shows the value
of an expression. Both see the listed names and Python's builtins, and names that you bind stay.
{JUMPS}"""

VALUES = """\
A value is JSON, such as 12.5, "text", true or [1, 2] (a dict is {"type": "dict", "items": \
[{"key": K,
"value": V}]}), or a reference {"type": "Ref", "addr": N} to an object."""

SHARED_EVAL = f"""\
{JUDGEMENT_RULES}
{VALUES} `eval` shows the value of an expression over the listed names and Python's builtins, and
the reference to it; `assign` binds a variable to a value; `deref` shows an object one level deep
and `setref` updates it in place. {JUMPS}"""

REFERENCES = f"""\
{VALUES} `lookup` reads a variable, `assign` binds one, `deref` shows an object one level deep,
`ref` makes one, `setref` updates one in place."""

ISOLATED_EVAL = f"""\
{JUDGEMENT_RULES}
{REFERENCES} `eval` computes an expression of literals and builtins; it sees none of the program's
variables. {JUMPS}"""

BASELINE = f"""\
{REFERENCES} `goto` jumps to a label of the program, where Python allows it. When all outputs are
bound, call `done`."""

Name = Annotated[str, Aliases("variable", "name")]
Value = Annotated[Wire, Aliases("value")]
Expression = Annotated[str, Aliases("expression", "code")]


# ── shared scopes ────────────────────────────────────────────────────────────────────────────────


def lookup(run: Handling[Any], var: Name) -> Answer | Refusal:
    """Read a variable."""
    try:
        value = run.lookup(var)
    except LookupError as error:
        return Refusal(str(error))
    return Answer(format_wire(encode_wire(value, Heap(run), var)))


def assign(run: Handling[Any], var: Name, val: Value) -> Answer | Refusal:
    """Bind a variable to a value."""
    heap = Heap(run)
    made = decode_wire(val, heap)
    try:
        run.assign(var, made)
    except LookupError as error:
        return Refusal(str(error))
    match val:
        case {"type": "Ref", "addr": int(number)}:
            held = run.references.get_object(number)
            if type(held) is Cell:  # the variable follows the cell's later values
                held.variables.append(var)
    return Answer("Success")


def assign_output(run: Handling[Any], var: Name, val: Value) -> Answer | Refusal:
    """Bind a variable to a value."""
    if var not in run.outputs:
        return Refusal(f"`{var}` is not an output; the outputs are: {', '.join(run.outputs)}")
    return assign(run, var, val)


# ── shared heap ──────────────────────────────────────────────────────────────────────────────────


def deref(run: Handling[Any], ref: Annotated[Reference, Aliases("reference")]) -> Answer:
    """Show the object behind a reference, one level deep."""
    heap = Heap(run)
    return Answer(format_wire(encode_level(heap.read(read_number(ref)), heap)))


def make_reference(run: Handling[Any], val: Value) -> Answer:
    """Make an object of a value and give a reference to it."""
    heap = Heap(run)
    made = decode_wire(val, heap)
    if is_exactly(made, *JSON_SCALARS):
        made = Cell(made)
    return Answer(format_wire(encode_wire(made, heap)))


def setref(
    run: Handling[Any], ref: Annotated[Reference, Aliases("reference")], val: Value
) -> Answer | Refusal:
    """Update the object behind a reference in place: a list, dict or set takes the items of \
the value, any other object the attributes of a dict."""
    heap = Heap(run)
    target = run.references.get_object(read_number(ref))
    problem = None
    match val:
        case _ if type(target) is Cell:
            set_cell(run, target, decode_wire(val, heap))
        case {"type": "Object" | "Class", "attributes": list(attributes)}:
            name = val.get("class", val.get("name"))
            owner = target if is_a(target, type) else type(target)
            if name != get_class_name(owner):
                return Refusal(f"this is a {get_class_name(owner)}, not a {name}")
            set_attributes(target, decode_attributes(attributes, partial(decode_wire, heap=heap)))
        case _:
            problem = update_in_place(target, decode_wire(val, heap))
    return Refusal(problem) if problem else Answer("Success")


def set_cell(run: Handling[Any], cell: Cell, value: object) -> None:
    """Set the value of a cell, and of the variables that still have its value."""
    before, cell.value = cell.value, value
    for variable in cell.variables:
        if run.lookup(variable) == before:
            run.assign(variable, value)


# ── shared control state ─────────────────────────────────────────────────────────────────────────


def goto(
    run: Handling[Any], label: str, val: Annotated[JumpValue, Aliases("value")] = None
) -> Broke | Continued | Returned | Raised | Refusal:
    """Jump to a label of the program: break, continue, return (val is the value) or raise (val is \
a reference to an exception, or its class and message as 'ValueError: message')."""
    heap = Heap(run)
    match label:
        case "break":
            return Broke()
        case "continue":
            return Continued()
        case "return":
            return Returned(decode_wire(val, heap))
        case "raise" if isinstance(val, str):
            return raise_text(heap, val)
        case "raise":
            return Raised(decode_wire(val, heap))
    known = ", ".join(sorted({"raise", *run.labels}))
    return Refusal(f"`{label}` is not possible here; the labels are {known}")


def raise_text(heap: Heap, text: str) -> Raised | Refusal:
    """Raise the exception that is written as 'ValueError: message'."""
    name, _, message = text.partition(":")
    try:
        kind = heap.find_class(name.strip())
    except ValueError:
        kind = object
    if not is_exception_class(kind):
        return Refusal(f"there is no exception `{name}`; write it as 'ValueError: message'")
    return Raised(kind(message.strip()) if message else kind())


def end() -> Completed:
    """End the instruction; all its outputs are bound."""
    return Completed()


# ── the specialization to Python ─────────────────────────────────────────────────────────────────


def evaluate(expr: Expression) -> Run | Refusal:
    """Evaluate one Python expression and show its value; it binds nothing."""
    return refuse_statements(expr) or Run(expr.strip(), done=False)


def evaluate_alone(run: Handling[Any], expr: Expression) -> Answer | Refusal:
    """Evaluate one Python expression and show its value; it binds nothing."""
    match compute(expr):
        case Ran(value, printed):
            shown = render_value(value), format_reference(value, run.references)
            return Answer(join_parts(mark_printed(printed), *shown))
        case refused:
            return refused


def compute(expression: str) -> Ran | Refusal:
    """Evaluate an expression without the variables of the program."""
    prepared = prepare(expression.strip(), make_isolated_scope(), expression=True)
    if isinstance(prepared, Refusal):
        return prepared
    match execute_snippet(prepared):
        case Ran() as ran:
            return ran
        case Failed(message):
            return Refusal(message)
        case Jumped():
            raise AssertionError("an expression does not jump")


def execute(code: str) -> Run:
    """Execute Python statements."""
    return Run(code, done=False)


def break_loop() -> Broke:
    """Break out of the program's loop."""
    return Broke()


def continue_loop() -> Continued:
    """Go on with the next round of the program's loop."""
    return Continued()


Returning = Annotated[str | None, Aliases("variable", "var")]
Raising = Annotated[str, Aliases("variable", "var")]


def return_value(value: Returning = None) -> Run | Refusal | Returned:
    """Return the value of a variable from the program's function; null returns nothing."""
    if value is None:
        return Returned(None)
    return refuse_statements(value) or Run(f"return ({value.strip()})", done=False)


def raise_error(error: Raising) -> Run | Refusal:
    """Raise, in the program, the exception that a variable holds."""
    return refuse_statements(error) or Run(f"raise ({error.strip()})", done=False)


def return_alone(run: Handling[Any], value: Returning = None) -> Returned | Refusal:
    """Return the value of a variable from the program's function; null returns nothing."""
    match Ran(None, "") if value is None else find_value(run, value):
        case Ran(found):
            return Returned(found)
        case refused:
            return refused


def raise_alone(run: Handling[Any], error: Raising) -> Raised | Refusal:
    """Raise, in the program, the exception that a variable holds."""
    match find_value(run, error):
        case Ran(found):
            return Raised(found)
        case refused:
            return refused


def find_value(run: Handling[Any], text: str) -> Ran | Refusal:
    """Return the value of a variable, else of an expression without the program's variables."""
    try:
        return Ran(run.lookup(text), "")
    except LookupError:
        return compute(text)


def refuse_statements(text: str) -> Refusal | None:
    """Refuse a text that is not one expression."""
    try:
        body = parse_python(text.strip()).body
    except SyntaxError as error:
        return Refusal(format_syntax_error(error))
    except (ValueError, RecursionError, MemoryError) as error:
        return Refusal(f"this must be one expression: {error}")
    if len(body) == 1 and isinstance(body[0], ast.Expr):
        return None
    return Refusal("this must be one expression; statements are not possible here")


# ── the interfaces ───────────────────────────────────────────────────────────────────────────────


ISOLATED = Interface("isolated", [])
"""Isolated program state: inputs and outputs are passed as values, without effects (B.3)."""

_LOOPS: Mapping[str, Handler] = {"break": break_loop, "continue": continue_loop}
_JUMPS: Mapping[str, Handler] = {"raise": raise_error, **_LOOPS, "return": return_value}
_DATA: Mapping[str, Handler] = {
    "lookup": lookup,
    "assign": assign,
    "deref": deref,
    "ref": make_reference,
    "setref": setref,
}
_PYTHON: Mapping[str, Handler] = {"exec": execute, "eval": evaluate, **_JUMPS, "done": end}

SHARED_STATE = Interface(
    "baseline",
    {**_DATA, "assign": assign_output, "goto": goto, "done": end},
    BASELINE,
    shows_values=False,
)
"""Shared program state (4.2): seven effects on the program's scopes, heap and control state."""

INTERFACES: Mapping[str, Interface] = {
    "baseline": SHARED_STATE,
    "isolated-eval": Interface(
        "isolated-eval",
        {
            **_DATA,
            "eval": evaluate_alone,
            "raise": raise_alone,
            **_LOOPS,
            "return": return_alone,
            "done": end,
        },
        ISOLATED_EVAL,
        shows_values=False,
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
        SHARED_EVAL,
        shows_values=False,
    ),
    "shared-python": Interface("shared-python", _PYTHON, PYTHON, shows_values=False),
    "nightjar": Interface("nightjar", _PYTHON, PYTHON),
}
"""The paper's effect sets, by their names."""


def make_settings(effects: str | None) -> dict[str, Any]:
    """Return the arguments of `njrt.using` for an effect set; None leaves each block its own."""
    if effects is not None and effects in INTERFACES:
        return {"interface": INTERFACES[effects]}
    return {"effects": effects} if effects else {}
