"""The exception that a snippet raises for its program, as opposed to mistakes in its code.

    raise OutOfStock("tea")    at the top level of a snippet: recorded, and raised in the program
    prices["tee"]              a KeyError that no `raise` recorded: a mistake, told to the model

This module imports only the standard library, because contained code records exceptions in a
separate process.
"""

from __future__ import annotations

import sys
from typing import Any


class RaisedError:
    """Records the exception last raised by the snippet's own `raise` statements.

    `handled` is the exception that the program handles around the block; `reraises` is true if the
    last `raise` was bare and re-raised exactly that exception.
    """

    def __init__(self) -> None:
        self.last: BaseException | None = None
        self.handled: BaseException | None = None
        self.reraises = False

    def record(self, *operand: Any) -> Any:
        """Return the operand of `raise` unchanged; a bare `raise` calls this without one."""
        error = operand[0] if operand else sys.exception()
        if isinstance(error, type) and issubclass(error, BaseException):
            error = error()
        self.last = error if isinstance(error, BaseException) else sys.exception()
        self.reraises = not operand and error is not None and error is self.handled
        return error

    def is_own_error(self, error: BaseException) -> bool:
        """Return whether the snippet raised `error`, or the exceptions that `except*` put in it."""
        if self.last is None:
            return False
        if isinstance(error, BaseExceptionGroup):
            # `except*` makes new groups of the same exceptions.
            leaves = {id(leaf) for leaf in _list_leaves(error)}
            return all(id(leaf) in leaves for leaf in _list_leaves(self.last))
        if isinstance(self.last, StopIteration) and error.__cause__ is self.last:
            return True  # a coroutine turns StopIteration into RuntimeError (PEP 479)
        return error is self.last


def _list_leaves(error: BaseException) -> list[BaseException]:
    """List the exceptions of a group and of the groups in it, or the exception itself."""
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for member in error.exceptions for leaf in _list_leaves(member)]
