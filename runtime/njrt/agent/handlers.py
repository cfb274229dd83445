"""The handlers: what each effect does to the program.

    Run("total = sum(prices)", done=True)   ──serve──>   Completed()                  the prompt is cancelled
    Eval("prices[0]")                       ──serve──>   Answer("3")                  the prompt is resumed
    Exec("prices = []")                     ──serve──>   Refusal("`prices` is ...")   resumed, with advice

A handler is a generator that yields the code it wants run (the driver runs it, awaiting it in an `async`
block) and returns the result. It never asks a model. A model's mistake is answered, not raised; only an output
that never fits its type ends the block by an `OutputTypeError`.
"""

from __future__ import annotations

import builtins
import json
from collections.abc import Generator
from functools import partial
from typing import assert_never

from njrt.agent.jumping import is_exception_class, jump
from njrt.agent.references import SCALARS, Heap, level_of, update, value_of, wire_of
from njrt.block import Block
from njrt.effects import (
    Answer,
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
    Result,
    ReturnValue,
    Run,
    SetRef,
    Wire,
)
from njrt.errors import NaturalError, OutputTypeError
from njrt.execution.execute import Execution, Failed, Jumped, Ran, Snippet, prepare, too_long
from njrt.execution.tracebacks import error_text
from njrt.options import Policy
from njrt.outcome import Completed, UserValue
from njrt.rendering.describe import show
from njrt.rendering.writer import printable
from njrt.scope.scope import Absent, Bound, Scope, scope_of
from njrt.timeouts import OutOfTime, within

Serving = Generator[Snippet, Execution, Result]
Plain = (
    Lookup | Assign | Deref | Ref | SetRef | Goto
    | BreakLoop | ContinueLoop | ReturnValue | RaiseError
)  # fmt: skip
"""The effects that are served at once; the others have code run, or end the block."""

ANSWER_CHARS = 2000
"""How much of a value, of printed text or of an error a model is shown at once."""

PATIENCE = 3
"""How often the model may mend an output of the wrong type before the block gives up."""


class Handlers:
    """Serves the effects of one run of a block on its scope (state: references, failures)."""

    def __init__(self, block: Block, scope: Scope) -> None:
        self.block = block
        self.scope = scope
        self.heap = Heap()
        self.failed = False
        self.misfits = 0

    def serve(self, effect: Effect | Refusal, turn: int) -> Serving:
        """Serve one effect, or what was meant as one."""
        match effect:
            case Run(code, done):
                result = yield from self.run(code, done)
            case Exec(code):
                result = yield from self.execute(code, silent="Success")
            case Eval(expression):
                result = yield from self.evaluate(expression)
            case Refusal():
                result = effect
            case Done():
                result = self.conclude()
            case _:
                result = self.carefully(effect)
        self.failed = isinstance(result, Refusal)
        return result

    def carefully(self, effect: Plain) -> Result:
        """Serve an effect that runs no code of the model, but may well run the program's: a `__setattr__`,
        an exception's constructor. Whatever that does, it is the model's request that has failed.
        """
        seconds = self.block.options.max_code_seconds
        try:
            return within(seconds, partial(self.plain, effect))
        except NaturalError:
            raise
        except Exception as error:
            return Refusal(error_text(error))

    def plain(self, effect: Plain) -> Result:
        """Serve an effect on the scope, on the heap or on the program's control flow."""
        match effect:
            case Lookup(variable):
                return self.shown_value(variable)
            case Assign(variable, value):
                refusal = self.scope.assign(variable, value_of(value, self.heap))
                return refusal or Answer("Success")
            case Deref(reference):
                return Answer(as_json(level_of(self.heap.at(reference), self.heap)))
            case Ref(value):
                return Answer(as_json(wire_of(value_of(value, self.heap), self.heap)))
            case SetRef(reference, value):
                problem = update(self.heap.at(reference), value_of(value, self.heap))
                return Refusal(problem) if problem else Answer("Success")
            case Goto(label, value):
                return self.go_to(label, value_of(value, self.heap))
            case BreakLoop():
                return jump("break", None, self.block.labels)
            case ContinueLoop():
                return jump("continue", None, self.block.labels)
            case ReturnValue(variable):
                return self.jump_with("return", variable)
            case RaiseError(variable):
                return self.jump_with("raise", variable)
            case _:
                assert_never(effect)

    # ── the direct effect ────────────────────────────────────────────────────────────────────────

    def run(self, code: str, done: bool) -> Serving:
        """Run code; with `done` the block is over once it has run and its outputs are bound."""
        if done and self.failed and not code.strip():
            return Refusal(
                "the last code failed, so this is not done; send code that does what is left"
            )
        result = yield from self.execute(code, silent="(ran; no value)")
        if done and isinstance(result, Answer):
            match self.conclude():
                case Refusal(message):
                    return Refusal(f"the code has run, but {message}; do not repeat what it did")
                case outcome:
                    return outcome
        return result

    # ── the paper's effects ──────────────────────────────────────────────────────────────────────

    def execute(self, code: str, silent: str) -> Serving:
        """Run code on the scope and tell what came of it; `silent` is said where nothing else is."""
        match prepare(
            code,
            self.scope,
            labels=self.block.labels,
            is_async=self.block.is_async,
            policy=self.policy,
        ):
            case Refusal() as refusal:
                return refusal
            case snippet:
                return self.told((yield snippet), silent)

    def told(self, execution: Execution, silent: str) -> Result:
        """What the prompt is resumed or cancelled with after code has run."""
        match execution:
            case Jumped(outcome):
                return outcome
            case Failed(message, printed):
                return Refusal(joined(printed, message))
            case Ran(value, printed):
                seen = "" if value is None else show(value, ANSWER_CHARS)
                return Answer(joined(printed, seen, self.reference_to(value)) or silent)
            case _:
                assert_never(execution)

    def reference_to(self, value: UserValue) -> str:
        """The reference to an object, in the sets whose effects take references."""
        is_object = self.has_references and type(value) not in SCALARS
        wire = wire_of(value, self.heap) if is_object else None
        return as_json(wire) if isinstance(wire, dict) else ""

    def evaluate(self, expression: str) -> Serving:
        """Evaluate one expression: on the program's variables, or on nothing in the isolated set."""
        isolated = self.block.options.effects == "isolated-eval"
        match prepare(
            expression.strip(),
            isolated_scope() if isolated else self.scope,
            is_async=self.block.is_async,
            policy=self.policy,
            expression=True,
        ):
            case Refusal(message):
                return Refusal(
                    message + ("; `exec` runs statements" if self.has_statements else "")
                )
            case snippet:
                return self.told((yield snippet), silent="None")

    def shown_value(self, variable: str) -> Result:
        """The value of a variable, as JSON or as a reference."""
        match self.scope.lookup(variable):
            case Bound(value) if self.is_visible(variable):
                return Answer(as_json(wire_of(value, self.heap)))
            case Absent.UNBOUND:
                return Refusal(f"`{variable}` is not bound yet")
            case _:
                names = ", ".join(self.scope.names) or "none"
                return Refusal(f"there is no variable `{variable}`; the variables are: {names}")

    def is_visible(self, variable: str) -> bool:
        """Whether the prompt names a variable, or the block made it; builtins are no variables."""
        return variable in self.scope.names or not hasattr(builtins, variable)

    def jump_with(self, label: str, variable: str | None) -> Result:
        """Return or raise what a variable holds."""
        if variable is None:
            return jump(label, None, self.block.labels)
        match self.scope.lookup(variable):
            case Bound(value):
                return jump(label, value, self.block.labels)
            case _:
                return Refusal(
                    f"`{label}` takes the name of a variable, and `{variable}` is not bound; bind one first, "
                    f"or, if nothing is to {label}, bind the outputs and call `done`"
                )

    def go_to(self, label: str, value: UserValue) -> Result:
        """Jump to a label as the formal interface does, with a value or an exception in words."""
        if label == "raise" and type(value) is str:
            name, _, message = value.partition(":")
            match self.scope.lookup(name.strip()):
                case Bound(kind) if is_exception_class(kind):
                    value = kind(message.strip()) if message else kind()
                case _:
                    return Refusal(
                        f"there is no exception `{name}`; write it as 'ValueError: message'"
                    )
        return jump(label, value, self.block.labels)

    # ── the end ──────────────────────────────────────────────────────────────────────────────────

    def conclude(self) -> Completed | Refusal:
        """End the block normally, unless an output is missing or does not fit its type.

        To look at an output may run code of the program's, a property or a validator: no longer than other code.
        """
        try:
            return within(self.block.options.max_code_seconds, self.concluded)
        except OutOfTime as error:
            raise too_long(error) from None

    def concluded(self) -> Completed | Refusal:
        """The same, for as long as it takes."""
        if missing := self.scope.unbound_outputs():
            names = ", ".join(f"`{name}`" for name in missing)
            return Refusal(
                f"{names} {'is' if len(missing) == 1 else 'are'} not bound yet; bind what is missing"
            )
        if misfits := "; ".join(self.scope.misfits()):
            self.misfits += 1
            if self.misfits > PATIENCE:
                raise OutputTypeError(f"an output does not fit its type: {misfits}")
            return Refusal(f"an output does not fit its type: {misfits}; bind it anew")
        return Completed()

    @property
    def policy(self) -> Policy:
        return self.block.options.policy or "guarded"

    @property
    def has_references(self) -> bool:
        return self.block.options.effects in ("shared-eval", "isolated-eval")

    @property
    def has_statements(self) -> bool:
        return self.block.options.effects in ("nightjar", "shared-python")


def isolated_scope() -> Scope:
    """A scope without any variable, in a module of its own."""
    return scope_of(eval("lambda: ()", {"__name__": "isolated"}))


def as_json(wire: Wire) -> str:
    """A value of the interface as the text that the model reads."""
    return printable(json.dumps(wire, ensure_ascii=False))


def joined(*parts: str) -> str:
    """The parts that hold anything, a line each."""
    return "\n".join(part.rstrip("\n") for part in parts if part)
