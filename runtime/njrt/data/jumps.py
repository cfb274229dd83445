"""Exceptions that make a block jump in the program around it; compiled code catches them.

    try:
        _nj.run(...)
    except _nj.Break:
        break
    except _nj.Return as _nj_r:
        return _nj_r.value

They are BaseExceptions, caught by the innermost `except` clauses, so no handler of the program sees
them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Never


class Jump(BaseException):
    """Base of the three jumps; caught by the clauses that njc emits around the call."""


class Break(Jump):
    """The program executes `break`."""


class Continue(Jump):
    """The program executes `continue`."""


class Return(Jump):
    """The program executes `return value`.

    The value is annotated as `Never`, which every return type accepts, because only the running
    model knows its type.
    """

    value: Never

    def __init__(self, value: object = None) -> None:
        super().__init__()
        self.value = value  # type: ignore[assignment]
