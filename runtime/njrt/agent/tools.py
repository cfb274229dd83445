"""The six effect sets as tools for a model, and the parsing of its calls into effects.

    run(code="total = 3", done=true)   ──parse_tool_call──>   Run(code='total = 3', done=True)

Names and arguments follow the paper and its published traces; older names of an argument are accepted.
Everything here is data and pure functions: the handlers perform the effects.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from njrt.effects import (
    Assign,
    BreakLoop,
    ContinueLoop,
    Deref,
    Done,
    Effect,
    Eval,
    Exec,
    Goto,
    Lookup,
    RaiseError,
    Ref,
    Refusal,
    ReturnValue,
    Run,
    SetRef,
)
from njrt.messages import Json, Tool, ToolCall, make_object_schema
from njrt.options import EffectSet
from njrt.records import record
from njrt.values.json_forms import move_definitions


@record
class Parameter:
    """One argument of a tool: its schema, and other names that models use for it."""

    name: str
    schema: Json
    aliases: tuple[str, ...] = ()
    default: Any = ...


@record
class Operation:
    """One effect as a tool: its description, its parameters, and the constructor of the effect."""

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    effect: Callable[..., Effect]


BlockEffects = EffectSet | tuple[Operation, ...]
"""The effects of a block: the name of a set, or the operations of its interface."""


TEXT_SCHEMA: Json = {"type": "string"}
REFERENCE_SCHEMA: Json = make_object_schema(
    {"type": {"enum": ["Ref"]}, "addr": {"type": "integer"}}
)


# A recursive schema, so that any value can be sent although strict mode has no free-form objects. A key-value pair is
# a dict item or an attribute, and is refused elsewhere; sharing one list of forms takes fewer tokens.
WIRE_SCHEMA: Json = {"$ref": "#/$defs/value"}
_VALUES: Json = {"type": "array", "items": WIRE_SCHEMA}
_SCALAR: Json = {"type": ["string", "number", "boolean", "null"]}
WIRE_DEFINITIONS: Json = {
    "value": {
        "anyOf": [
            _SCALAR,
            REFERENCE_SCHEMA,
            _VALUES,
            make_object_schema({"type": {"enum": ["tuple", "set", "dict"]}, "items": _VALUES}),
            make_object_schema(
                {"type": {"enum": ["Object"]}, "class": TEXT_SCHEMA, "attributes": _VALUES}
            ),
            make_object_schema({"key": WIRE_SCHEMA, "value": WIRE_SCHEMA}),
        ]
    }
}
JUMP_SCHEMA: Json = {"anyOf": [_SCALAR, REFERENCE_SCHEMA]}

RUN = Operation(
    "run",
    "Run Python in the program's scope. done=true ends the instruction once the code has run without "
    "error; done=false shows the value of the last expression and goes on.",
    (Parameter("code", TEXT_SCHEMA), Parameter("done", {"type": "boolean"}, default=False)),
    Run,
)
EVAL = Operation(
    "eval",
    "Evaluate one Python expression and show its value; it binds nothing.",
    (Parameter("expr", TEXT_SCHEMA, ("expression", "code")),),
    Eval,
)
EXEC = Operation("exec", "Execute Python statements.", (Parameter("code", TEXT_SCHEMA),), Exec)
LOOKUP = Operation(
    "lookup", "Read a variable.", (Parameter("var", TEXT_SCHEMA, ("variable", "name")),), Lookup
)
ASSIGN = Operation(
    "assign",
    "Bind a variable to a value.",
    (
        Parameter("var", TEXT_SCHEMA, ("variable", "name")),
        Parameter("val", WIRE_SCHEMA, ("value",)),
    ),
    Assign,
)
DEREF = Operation(
    "deref",
    "Show the object behind a reference, one level deep.",
    (Parameter("ref", REFERENCE_SCHEMA, ("reference",)),),
    lambda ref: Deref(get_address(ref)),
)
REF = Operation(
    "ref",
    "Make an object of a value and give a reference to it.",
    (Parameter("val", WIRE_SCHEMA, ("value",)),),
    Ref,
)
SETREF = Operation(
    "setref",
    "Update the object behind a reference in place: a list, dict or set takes the items of the value, "
    "any other object the attributes of a dict.",
    (Parameter("ref", REFERENCE_SCHEMA, ("reference",)), Parameter("val", WIRE_SCHEMA, ("value",))),
    lambda ref, val: SetRef(get_address(ref), val),
)
GOTO = Operation(
    "goto",
    "Jump to a label of the program: break, continue, return (val is the value) or raise (val is a "
    "reference to an exception, or its class and message as 'ValueError: message').",
    (Parameter("label", TEXT_SCHEMA), Parameter("val", JUMP_SCHEMA, ("value",), default=None)),
    Goto,
)
BREAK = Operation("break", "Break out of the program's loop.", (), BreakLoop)
CONTINUE = Operation(
    "continue", "Go on with the next round of the program's loop.", (), ContinueLoop
)
RETURN = Operation(
    "return",
    "Return the value of a variable from the program's function; null returns nothing.",
    (Parameter("value", {"type": ["string", "null"]}, ("variable", "var"), default=None),),
    ReturnValue,
)
RAISE = Operation(
    "raise",
    "Raise, in the program, the exception that a variable holds.",
    (Parameter("error", TEXT_SCHEMA, ("variable", "var")),),
    RaiseError,
)
DONE = Operation("done", "End the instruction; all its outputs are bound.", (), Done)

JUMP_OPERATIONS = (RAISE, BREAK, CONTINUE, RETURN)
DATA_OPERATIONS = (LOOKUP, ASSIGN, DEREF, REF, SETREF)
OPERATIONS: Mapping[EffectSet, tuple[Operation, ...]] = {
    "answer": (),
    "direct": (RUN,),
    "nightjar": (EXEC, EVAL, *JUMP_OPERATIONS, DONE),
    "shared-python": (EXEC, EVAL, *JUMP_OPERATIONS, DONE),
    "shared-eval": (EVAL, ASSIGN, DEREF, SETREF, *JUMP_OPERATIONS, DONE),
    "isolated-eval": (*DATA_OPERATIONS, EVAL, *JUMP_OPERATIONS, DONE),
    "baseline": (*DATA_OPERATIONS, GOTO, DONE),
}


def list_operations(effects: BlockEffects) -> tuple[Operation, ...]:
    """Return the operations of an effect set or an interface."""
    return OPERATIONS[effects] if isinstance(effects, str) else effects


@functools.cache
def make_tools(effects: EffectSet) -> tuple[Tool, ...]:
    """Return the tools of an effect set, in a fixed order, with strict schemas that both vendors accept."""
    return make_operation_tools(OPERATIONS[effects])


def make_operation_tools(operations: tuple[Operation, ...]) -> tuple[Tool, ...]:
    """Return operations as tools, in their order."""
    return tuple(
        Tool(operation.name, operation.description, make_arguments_schema(operation))
        for operation in operations
    )


def make_arguments_schema(operation: Operation) -> Json:
    """Return the strict JSON schema of an operation's arguments: every property required, no others allowed."""
    definitions: dict[str, Json] = {}
    parameters = {p.name: move_definitions(p.schema, definitions) for p in operation.parameters}
    schema = make_object_schema(parameters)
    if any(parameter.schema is WIRE_SCHEMA for parameter in operation.parameters):
        definitions |= WIRE_DEFINITIONS
    return schema | ({"$defs": definitions} if definitions else {})


def parse_tool_call(call: ToolCall, effects: BlockEffects) -> Effect | Refusal:
    """Return the effect of a tool call, or a refusal that names the mistake in it."""
    operations = {operation.name: operation for operation in list_operations(effects)}
    operation = operations.get(call.name)
    if operation is None:
        return Refusal(f"there is no tool `{call.name}`; the tools are {', '.join(operations)}")
    if call.arguments is None and operation.parameters:
        return Refusal(
            f"the arguments of `{call.name}` are not a JSON object: {call.raw[:200]!r}; "
            f"send {format_call_form(operation)}"
        )
    return make_effect(operation, call.arguments or {})


def make_effect(operation: Operation, arguments: Json) -> Effect | Refusal:
    """Make the effect of an operation from its arguments, by name, alias and type.

    Arguments to an operation without parameters, such as `done(status="ok")`, are ignored: they can mean nothing else.
    """
    rest, values = dict(arguments), {}
    for parameter in operation.parameters:
        names = [name for name in (parameter.name, *parameter.aliases) if name in rest]
        if names:
            values[parameter.name] = rest.pop(names[0])
        elif parameter.default is not ...:
            values[parameter.name] = parameter.default
        else:
            return Refusal(
                f"`{operation.name}` needs `{parameter.name}`; send {format_call_form(operation)}"
            )
        if problem := find_argument_problem(parameter, values[parameter.name]):
            return Refusal(f"`{operation.name}`: {problem}; send {format_call_form(operation)}")
    if rest and operation.parameters:
        return Refusal(f"`{operation.name}` takes no `{next(iter(rest))}`")
    return operation.effect(*values.values())


def find_argument_problem(parameter: Parameter, value: Any) -> str | None:
    """Return why a value does not fit a parameter, or None."""
    if parameter.schema is REFERENCE_SCHEMA:
        if get_address(value) is None:
            return f'`{parameter.name}` must be {{"type": "Ref", "addr": N}}, as you have been shown it'
    elif parameter.schema == TEXT_SCHEMA and not isinstance(value, str):
        return f"`{parameter.name}` must be a string"
    elif parameter.schema == {"type": "boolean"} and not isinstance(value, bool):
        return f"`{parameter.name}` must be true or false"
    elif parameter.schema == {"type": ["string", "null"]} and type(value) not in (str, type(None)):
        return f"`{parameter.name}` must be the name of a variable or null"
    return None


def get_address(wire: Any) -> Any:
    """Return the address in `{"type": "Ref", "addr": N}` (or a bare N), or None for anything else."""
    if isinstance(wire, Mapping) and wire.get("type") == "Ref":
        wire = wire.get("addr")
    return wire if isinstance(wire, int) and not isinstance(wire, bool) else None


def format_call_form(operation: Operation) -> str:
    """Return the form of a call, for a message to the model."""
    return f"{operation.name}({', '.join(parameter.name for parameter in operation.parameters)})"
