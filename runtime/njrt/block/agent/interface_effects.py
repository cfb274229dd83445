"""The effects of an interface as operations of one block, and one run behind it.

def reserve(run: Handling, product: Product, count: int = 1)
    Operation("reserve", ..., parameters=(product, count))
Perform("shop.reserve", {"product": {"type": "Ref", "addr": 2}, "count": None})
    reserve(run, the product)
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any

from njrt.block.agent.calls import limit_time
from njrt.block.agent.conversation import InterfaceForm
from njrt.block.agent.interface_arguments import (
    OMITTED,
    Argument,
    KnownObjects,
    UnknownVariableError,
    make_argument,
    make_output_argument,
)
from njrt.block.agent.prompt import build_interface_prompt
from njrt.block.agent.tools import Operation, format_call_form
from njrt.block.block import Block
from njrt.data.outcome import Completed, Outcome, UserValue
from njrt.data.records import record
from njrt.effects import Perform, WireValue
from njrt.errors import ConfigurationError, OutputTypeError
from njrt.execution.scope.scope import Scope
from njrt.interface import Handler, Handling, Interface, References
from njrt.messages import Protocol


@record
class InterfaceEffect:
    """An effect of an interface; without a `handler`, the `done` that binds the outputs."""

    operation: Operation
    arguments: Mapping[str, Argument]
    handler: Handler | None = None
    takes_handling: bool = False

    def decode(self, sent: Mapping[str, WireValue], known: KnownObjects) -> dict[str, UserValue]:
        """Return the arguments as program values by name; raise ValueError if one does not fit."""
        if unknown := sent.keys() - self.arguments.keys():
            raise ValueError(f"`{self.operation.name}` takes no `{min(unknown)}`")
        values = {}
        for name, argument in self.arguments.items():
            value = sent.get(name, OMITTED)
            if value is None and not argument.accepts_none and argument.has_default:
                value = OMITTED
            if value is OMITTED and argument.has_default:
                continue
            if value is OMITTED:
                raise ValueError(f"`{name}` is missing; send {format_call_form(self.operation)}")
            try:
                values[name] = argument.decode(value, known)
            except ValueError as error:
                raise ValueError(f"`{name}`: {error}") from None
        return values


@record
class OpenInterface:
    """An interface in one run of a block."""

    interface: Interface
    effects: Mapping[str, InterfaceEffect]
    handling: Handling[Any]
    known: KnownObjects
    max_seconds: float | None

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The effects as operations, in the order of the interface."""
        return tuple(effect.operation for effect in self.effects.values())

    @property
    def has_references(self) -> bool:
        """Whether the model can pass objects of the program."""
        arguments = (each for effect in self.effects.values() for each in effect.arguments.values())
        return any("reference" in argument.shown for argument in arguments)

    def find(self, function: str) -> InterfaceEffect | None:
        """Return the effect that a `Perform` names, if the interface has it."""
        name, _, effect = function.rpartition(".")
        return self.effects.get(effect) if name == self.interface.name else None

    def close(self, outcome: Outcome | BaseException) -> None:
        """Call the interface's `finally_` in the time limit of code, and check outputs it may bind.

        Raises CodeTimeLimitError, or OutputTypeError if an output of a completed block no longer
        fits its type.
        """
        self.handling.outcome = outcome
        if self.interface.finally_ is None:
            return
        call = partial(self.interface.finally_, self.handling)
        limit_time(self.max_seconds, call)
        if isinstance(outcome, Completed) and (misfits := "; ".join(self.known.scope.misfits({}))):
            raise OutputTypeError(f"after `finally_`, an output does not fit its type: {misfits}")


def open_interface(interface: Interface, block: Block, scope: Scope) -> OpenInterface:
    """Open an interface for a new run, with fresh state.

    Raises ConfigurationError if a handler cannot be used, or an output cannot be an argument of
    `done`.
    """
    effects = make_interface_effects(interface, scope)

    def assign(name: str, value: UserValue) -> None:
        if refusal := scope.assign(name, value):
            raise UnknownVariableError(refusal.message)

    labels = tuple(label.removeprefix("bare_") for label in block.labels)
    state = interface.state() if interface.state is not None else None
    known = KnownObjects(scope, References())
    handling = Handling(
        block.place, labels, scope.outputs, state, known.look_up, assign, known.references
    )
    return OpenInterface(interface, effects, handling, known, block.options.max_code_seconds)


def make_interface_effects(interface: Interface, scope: Scope) -> dict[str, InterfaceEffect]:
    """Return an interface's effects in a block, by name; the last may be the block's `done`.

    Raises ConfigurationError if an output cannot be an argument of `done`.
    """
    effects = dict(_make_declared_effects(interface))
    if "done" not in effects:
        arguments = {path: make_output_argument(path, scope) for path in scope.outputs}
        operation = _make_operation(
            interface, "done", "End the instruction, with the values of its outputs.", arguments
        )
        effects["done"] = InterfaceEffect(operation, arguments)
    return effects


@lru_cache(maxsize=64)
def _make_declared_effects(interface: Interface) -> Mapping[str, InterfaceEffect]:
    """Return the effects that an interface declares; they are the same in all blocks."""
    return {
        name: _make_effect(interface, name, handler) for name, handler in interface.list_effects()
    }


def _make_effect(interface: Interface, name: str, handler: Handler) -> InterfaceEffect:
    where = f"njrt.Interface {interface.name!r}"
    try:
        hints = typing.get_type_hints(handler, include_extras=True)
    except Exception as error:
        raise ConfigurationError(
            f"{where}: the annotations of `{name}` cannot be evaluated: {error}"
        ) from None
    parameters = list(inspect.signature(handler).parameters.values())
    takes_handling = bool(parameters) and _is_handling(hints.get(parameters[0].name))
    arguments = {}
    for parameter in parameters[takes_handling:]:
        at = f"{where}: the parameter `{parameter.name}` of `{name}`"
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ConfigurationError(f"{at} cannot be passed by its name")
        if parameter.name not in hints:
            raise ConfigurationError(f"{at} has no type")
        declared = hints[parameter.name]
        if _is_handling(declared):
            raise ConfigurationError(f"{at} is a `Handling`: write it as the first one")
        has_default = parameter.default is not parameter.empty
        arguments[parameter.name] = make_argument(parameter.name, declared, has_default)
    operation = _make_operation(interface, name, inspect.getdoc(handler) or "", arguments)
    return InterfaceEffect(operation, arguments, handler, takes_handling)


def _is_handling(declared: Any) -> bool:
    origin = typing.get_origin(declared) or declared
    return isinstance(origin, type) and issubclass(origin, Handling)


def _make_operation(
    interface: Interface, name: str, description: str, arguments: Mapping[str, Argument]
) -> Operation:
    parameters = tuple(argument.parameter for argument in arguments.values())
    effect = partial(_make_perform, f"{interface.name}.{name}", tuple(arguments))
    return Operation(name, description, parameters, effect)


def _make_perform(function: str, names: tuple[str, ...], *sent: WireValue) -> Perform:
    given = zip(names, sent, strict=True)
    return Perform(function, {name: value for name, value in given if value is not OMITTED})


def make_interface_form(opened: OpenInterface, protocol: Protocol) -> InterfaceForm:
    """Return the system prompt and the operations of an interface."""
    calls = [describe_effect(effect) for effect in opened.effects.values()]
    rules, has_references = opened.interface.rules, opened.has_references
    system = build_interface_prompt(rules, calls, protocol, has_references)
    return InterfaceForm(system, opened.operations)


def describe_effect(effect: InterfaceEffect) -> str:
    """Return an effect's call and description on one line, for models that do not read schemas."""
    arguments = (f"{name}: {argument.shown}" for name, argument in effect.arguments.items())
    description = " ".join(effect.operation.description.split())
    return f"{effect.operation.name}({', '.join(arguments)}): {description}"
