"""The ways that a natural block can end, and the result of `run` for each.

    Completed()          run(...) returns
    Broke()              run(...) raises Break       `except _nj.Break: break`
    Continued()          run(...) raises Continue    `except _nj.Continue: continue`
    Returned(value)      run(...) raises Return      `except _nj.Return as _nj_r: return ...`
    Raised(exception)    run(...) raises it, or returns True: `if _nj.run(...): raise`

The three jumps are in `njrt.data.jumps`.
"""

from __future__ import annotations

from typing import Any

from njrt.data.records import record

UserValue = Any
"""A value in the user's program, of any type."""


@record
class Completed:
    """The block ended normally; its outputs are bound."""


@record
class Broke:
    """The block breaks out of the enclosing loop."""


@record
class Continued:
    """The block continues with the next iteration of the enclosing loop."""


@record
class Returned:
    """The block returns from the enclosing function."""

    value: UserValue


@record
class Raised:
    """The block raises an exception in the program."""

    exception: BaseException
    is_reraise: bool = False
    """Whether the program handles this exception around the block, as in a bare `raise`."""


Outcome = Completed | Broke | Continued | Returned | Raised
