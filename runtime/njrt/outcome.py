"""How a natural block can end, and how compiled code is told.

    Completed()          run(...) returns
    Broke()              run(...) raises Break       `except _nj.Break: break`
    Continued()          run(...) raises Continue    `except _nj.Continue: continue`
    Returned(value)      run(...) raises Return      `except _nj.Return as _nj_r: return _nj_r.value`
    Raised(exception)    run(...) raises the exception itself

The three jumps are BaseExceptions that compiled code catches in its innermost `except` arms, so that
no handler of the program ever sees one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

UserValue = Any
"""A value of the user's program: the one place where any type may enter the runtime."""


@dataclass(frozen=True, slots=True)
class Completed:
    """The block ended normally; its outputs are bound."""


@dataclass(frozen=True, slots=True)
class Broke:
    """The block broke out of the enclosing loop."""


@dataclass(frozen=True, slots=True)
class Continued:
    """The block went on with the next round of the enclosing loop."""


@dataclass(frozen=True, slots=True)
class Returned:
    """The block returned from the enclosing function."""

    value: UserValue


@dataclass(frozen=True, slots=True)
class Raised:
    """The block raised an exception in the program."""

    exception: BaseException


Outcome = Completed | Broke | Continued | Returned | Raised


class Jump(BaseException):
    """Base of the three jumps; never caught by a program, always by the arms njc wrote around the call."""


class Break(Jump):
    """The program must `break`."""


class Continue(Jump):
    """The program must `continue`."""


class Return(Jump):
    """The program must `return self.value`."""

    def __init__(self, value: UserValue = None) -> None:
        super().__init__()
        self.value = value
