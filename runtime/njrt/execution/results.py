"""Results of running the code of a model.

Ran(value=3, printed="")                    it ran to its end
Jumped(Raised(OutOfStock("tea")), "")       it left the block
Failed("TypeError: ...", "")                a mistake, reported to the model
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from njrt.execution.lowering import ExitKind
from njrt.outcome import Broke, Continued, Outcome, Returned, UserValue


@dataclass(frozen=True, slots=True)
class Ran:
    """The code ran to its end; `value` is the value of its last statement, if this is an expression."""

    value: UserValue
    printed: str


@dataclass(frozen=True, slots=True)
class Jumped:
    """The code left the block."""

    outcome: Outcome
    printed: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The code failed; `message` is for the model."""

    message: str
    printed: str


Execution = Ran | Jumped | Failed


def make_execution(exit_kind: int, value: UserValue, printed: str) -> Execution:
    """Return the result of code that has ended without an exception."""
    match ExitKind(exit_kind):
        case ExitKind.FELL_OFF | ExitKind.VALUE:
            return Ran(value, printed)
        case ExitKind.RETURN:
            return Jumped(Returned(value), printed)
        case ExitKind.BREAK:
            return Jumped(Broke(), printed)
        case ExitKind.CONTINUE:
            return Jumped(Continued(), printed)
        case never:
            assert_never(never)
