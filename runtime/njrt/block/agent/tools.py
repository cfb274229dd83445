"""Effects as tools for a model, and the parsing of its calls into effects.

    run(code="total = 3", done=true)   ──parse_tool_call──>   Run(code='total = 3', done=True)

Everything here is data and pure functions: the handlers perform the effects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from njrt.data.records import record
from njrt.effects import Effect, Refusal, Run
from njrt.messages import Json, Tool, ToolCall, make_object_schema
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


TEXT_SCHEMA: Json = {"type": "string"}
REFERENCE_SCHEMA: Json = make_object_schema(
    {"type": {"enum": ["Ref"]}, "addr": {"type": "integer"}}
)


RUN = Operation(
    "run",
    "Run Python in the program's scope. done=true ends the instruction once the code has run"
    " without error; done=false shows the value of the last expression and goes on.",
    (Parameter("code", TEXT_SCHEMA), Parameter("done", {"type": "boolean"}, default=False)),
    Run,
)
DIRECT = (RUN,)
"""The operations of the effect set `direct`."""


def make_tools(operations: tuple[Operation, ...]) -> tuple[Tool, ...]:
    """Return operations as tools, with strict schemas that both vendors accept."""
    return tuple(
        Tool(operation.name, operation.description, make_arguments_schema(operation))
        for operation in operations
    )


def make_arguments_schema(operation: Operation) -> Json:
    """Return the strict JSON schema of operation arguments: all required, no others allowed."""
    definitions: dict[str, Json] = {}
    parameters = {p.name: move_definitions(p.schema, definitions) for p in operation.parameters}
    schema = make_object_schema(parameters)
    return schema | ({"$defs": definitions} if definitions else {})


DIRECT_TOOLS = make_tools(DIRECT)


def parse_tool_call(call: ToolCall, operations: tuple[Operation, ...]) -> Effect | Refusal:
    """Return the effect of a tool call, or a refusal that names the mistake in it."""
    named = {operation.name: operation for operation in operations}
    operation = named.get(call.name)
    if operation is None:
        return Refusal(f"there is no tool `{call.name}`; the tools are {', '.join(named)}")
    if call.arguments is None and operation.parameters:
        return Refusal(
            f"the arguments of `{call.name}` are not a JSON object: {call.raw[:200]!r}; "
            f"send {format_call_form(operation)}"
        )
    return make_effect(operation, call.arguments or {})


def make_effect(operation: Operation, arguments: Json) -> Effect | Refusal:
    """Make the effect of an operation from its arguments, by name, alias and type.

    Arguments to an operation without parameters, such as `done(status="ok")`, are ignored: they can
    mean nothing else.
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
    if parameter.schema == TEXT_SCHEMA and not isinstance(value, str):
        return f"`{parameter.name}` must be a string"
    if parameter.schema == {"type": "boolean"} and not isinstance(value, bool):
        return f"`{parameter.name}` must be true or false"
    return None


def get_address(wire: Any) -> Any:
    """Return the address in `{"type": "Ref", "addr": N}` or a bare N, or None for anything else."""
    if isinstance(wire, Mapping) and wire.get("type") == "Ref":
        wire = wire.get("addr")
    return wire if isinstance(wire, int) and not isinstance(wire, bool) else None


def format_call_form(operation: Operation) -> str:
    """Return the form of a call, for a message to the model."""
    return f"{operation.name}({', '.join(parameter.name for parameter in operation.parameters)})"
