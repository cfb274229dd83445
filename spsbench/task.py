"""What a benchmark task is: a program is played on inputs, and its state is checked afterwards.

    Task("average_of_three", (
        Case("words", lambda program: program.average_of_three("one", "two", "three"), (
            Check("the average is 2.0", lambda average: average == 2.0),
        )),
    ))

A case makes its inputs anew each time it is played, and gives what its checks look at: a result, an object
that the program was to change, an exception. Checks are about state and never about wording.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

Observed = Any
"""What a case lets its checks see: whatever values the program made or changed."""


@dataclass(frozen=True, slots=True)
class Check:
    """One statement about the state that a case leaves; the text says what must be so."""

    text: str
    holds: Callable[[Observed], bool]


@dataclass(frozen=True, slots=True)
class Case:
    """One way to play a program, and what must be so afterwards."""

    name: str
    play: Callable[[ModuleType], Observed]
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """One of the suite's 25 tasks; its natural and its manual program have the same interface."""

    name: str
    cases: tuple[Case, ...]
    needs_python: bool = False
    """Whether the prompt must make closures, classes or generators, or call methods (the paper's table)."""


def catch_exception_name(action: Callable[[], object]) -> str | None:
    """The name of the exception that `action` leaves by, or None where it ends normally."""
    try:
        action()
    except Exception as error:
        return type(error).__name__
    return None
