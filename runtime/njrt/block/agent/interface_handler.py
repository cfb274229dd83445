"""The handler of an interface: it calls the function for an effect, and does what that asks.

Perform("shop.reserve", {...})     Answer("reserved")                   the function returned this
                                   Refusal("ValueError: only 2 left")   it raised an exception
                                   Raised(SoldOut())                    it returned a jump
                                   Answer("3")                          it returned Run("prices[0]")
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from njrt.block.agent.block_end import BlockEnd
from njrt.block.agent.calls import call_in_time
from njrt.block.agent.code_runner import MAX_ANSWER_CHARS, CodeRunner, EffectGenerator, join_parts
from njrt.block.agent.interface_arguments import KnownObjects, format_reference
from njrt.block.agent.interface_effects import InterfaceEffect, OpenInterface
from njrt.block.agent.secrets import find_secrets
from njrt.data.outcome import Broke, Completed, Continued, Raised, Returned, UserValue
from njrt.effects import Answer, Effect, EffectResult, Perform, Refusal, Run, WireValue
from njrt.errors import PolicyError
from njrt.execution.scope.opening import make_scope
from njrt.execution.scope.scope import Scope
from njrt.execution.syntax import parse_python
from njrt.execution.tracebacks import cut_middle
from njrt.values.introspection import is_exactly
from njrt.values.rendering.describe import render_value

MAX_SHOWN_ITEMS = 20
"""Most references to list items that a model is shown at a time."""


class InterfaceHandler:
    """Performs the effects of an interface."""

    def __init__(self, end: BlockEnd, runner: CodeRunner, interface: OpenInterface) -> None:
        self.end = end
        self.runner = runner
        self.interface = interface
        self.seconds = end.block.options.max_code_seconds

    def serve(self, effect: Effect | Refusal) -> EffectGenerator:
        """Serve one effect, or the refusal of a request that could not be read as one."""
        match effect:
            case Perform(function, arguments):
                return (yield from self.perform(function, arguments))
            case Refusal():
                return effect
        raise AssertionError(f"{type(effect).__name__} is not an effect of an interface")

    def perform(self, function: str, sent: Mapping[str, WireValue]) -> EffectGenerator:
        """Call an effect's function, and do what its result asks."""
        found = self.interface.find(function)
        if found is None:
            return Refusal(f"the interface of this block has no effect `{function}`")
        decode = partial(decode_arguments, found, sent, self.interface.known)
        arguments = call_in_time(self.seconds, decode)
        if isinstance(arguments, Refusal):
            return arguments
        if found.handler is None:
            return call_in_time(self.seconds, partial(self.end.bind, arguments))
        given = (self.interface.handling,) if found.takes_handling else ()
        result = call_in_time(self.seconds, partial(found.handler, *given, **arguments))
        if isinstance(result, Run):
            return (yield from self.run(result))
        return call_in_time(self.seconds, partial(self.convert, result))

    def run(self, effect: Run) -> EffectGenerator:
        """Run code that a function returned; raise PolicyError if the block must have no code."""
        if self.end.block.options.authority == "strict":
            raise PolicyError(
                'the interface runs code, which the block\'s authority="strict" does not allow'
            )
        silent = "None" if is_expression(effect.code) else "Success"
        result: EffectResult = yield from self.runner.execute(effect.code, silent, self.refer)
        return self.end.conclude() if effect.done and isinstance(result, Answer) else result

    def convert(self, result: Any) -> EffectResult:
        """Convert what a function returned to the result of its effect."""
        match result:
            case Answer(text):
                return Answer(str(text))
            case Refusal(message):
                return Refusal(cut_middle(str(message), MAX_ANSWER_CHARS))
            case Completed():
                return self.end.conclude()
            case Broke():
                return self.end.jump("break")
            case Continued():
                return self.end.jump("continue")
            case Returned(value):
                return self.end.jump("return", value)
            case Raised(exception):
                return self.end.jump("raise", exception)
            case None:
                return Answer("Success")
            case _:
                return Answer(self.show(result))

    def show(self, value: UserValue) -> str:
        """Return a value as text, with references to objects."""
        find_secrets(self.end.scope, self.end.redactor)
        if type(value) is str and len(value) <= MAX_ANSWER_CHARS:
            return value
        shown = render_value(value, MAX_ANSWER_CHARS, self.end.redactor)
        if not is_exactly(value, list, tuple) or len(value) > MAX_SHOWN_ITEMS:
            return join_parts(shown, self.refer(value))
        # For a short list, show references to its items, which models pass on.
        items = [f"[{n}]: {text}" for n, item in enumerate(value) if (text := self.refer(item))]
        return join_parts(shown, *items)

    def refer(self, value: UserValue) -> str:
        """Return the reference to an object as text, if the interface takes references."""
        if not self.interface.has_references:
            return ""
        return format_reference(value, self.interface.known.references)


def decode_arguments(
    effect: InterfaceEffect, sent: Mapping[str, WireValue], known: KnownObjects
) -> dict[str, UserValue] | Refusal:
    """Return the arguments of a function, or the reason to refuse them."""
    try:
        return effect.decode(sent, known)
    except ValueError as error:
        return Refusal(str(error))


def advise_effect(interface: OpenInterface, missing: Sequence[str]) -> str:
    """Return what a model must do about missing outputs behind an interface."""
    if interface.effects["done"].handler is None:
        return "end by `done`, with all outputs"
    return "request an effect that binds " + ("it" if len(missing) == 1 else "them")


def make_isolated_scope() -> Scope:
    """Return a scope without variables, in a separate module."""
    return make_scope(eval("lambda: ()", {"__name__": "isolated"}))


def is_expression(code: str) -> bool:
    """Return whether code is one expression, so that it has a value, which may be None."""
    try:
        body = parse_python(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return len(body) == 1 and isinstance(body[0], ast.Expr)
