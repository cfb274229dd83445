"""Results of running a model's code.

Ran(value=3, printed="")                    it ran to its end
Jumped(Raised(OutOfStock("tea")), "")       it left the block
Failed("TypeError: ...", "")                a mistake, reported to the model
"""

from __future__ import annotations

from njrt.data.outcome import Broke, Continued, Outcome, Returned, UserValue
from njrt.data.records import record
from njrt.execution.compile import Snippet
from njrt.execution.lowering import ExitKind
from njrt.execution.scope.advice import explain_mistake
from njrt.execution.scope.bindings import Absent, Bound


@record
class Ran:
    """The code ran to its end; `value` is its last statement's value, if that is an expression."""

    value: UserValue
    printed: str


@record
class Jumped:
    """The code left the block."""

    outcome: Outcome
    printed: str


@record
class Failed:
    """The code failed; `message` is for the model."""

    message: str
    printed: str


Execution = Ran | Jumped | Failed


def make_execution(exit_kind: int, value: UserValue, printed: str) -> Execution:
    """Return the result of code that ended without an exception."""
    match exit_kind:
        case ExitKind.FELL_OFF | ExitKind.VALUE:
            return Ran(value, printed)
        case ExitKind.RETURN:
            return Jumped(Returned(value), printed)
        case ExitKind.BREAK:
            return Jumped(Broke(), printed)
        case ExitKind.CONTINUE:
            return Jumped(Continued(), printed)
    raise AssertionError(f"{exit_kind} is no ExitKind")


def make_failure(
    snippet: Snippet, error: BaseException, text: str, name: str | None, printed: str
) -> Failed:
    """Return the mistake that `text` describes, with advice, or that `name` is not bound."""
    scope = snippet.scope
    if name and scope.lookup(name) is Absent.UNBOUND:
        _, line_end, frames = text.partition("\n")
        advice = f"\n  assign a value to `{name}` first" if name in scope.outputs else ""
        unbound = f"{type(error).__name__}: `{name}` is not bound yet{line_end}{frames}{advice}"
        return Failed(unbound, printed)

    def look_up(name: str) -> UserValue:
        found = scope.lookup(name)
        return found.value if isinstance(found, Bound) else None

    advice = explain_mistake(error, snippet.source, look_up)
    return Failed(f"{text}\n  {advice}" if advice else text, printed)
