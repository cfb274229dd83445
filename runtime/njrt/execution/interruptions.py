"""Exceptions that come from outside the model's code, and that its handlers do not catch.

    while True:                                   while True:
        try:                                          try:
            wait()                                        wait()
        except:                        ==>            except .catchable():
            pass                                          pass

These are the end of the code's time, KeyboardInterrupt, and the cancellation of the program's task.
They leave the code, and the block, as if the code had no handlers. A CancelledError while nobody
has cancelled the program's task is a mistake of the code.

Not detected: exceptions that a function of the program or a context manager catches itself. A
`finally` that ends with `return`, `break` or `continue` discards every exception except the end of
the code's time.
"""

from __future__ import annotations

import sys
from typing import Any

from njrt.data.timeouts import Interruption

ExceptionTypes = type[BaseException] | tuple[Any, ...]


def select_catchable(kinds: ExceptionTypes = BaseException) -> ExceptionTypes:
    """Return an `except` clause's operand, or an empty tuple if the error comes from outside."""
    error = sys.exception()
    return () if error is not None and is_interruption(error) else kinds


def is_interruption(error: BaseException) -> bool:
    """Return whether an exception comes from outside of the code that it was raised in."""
    if isinstance(error, Interruption | KeyboardInterrupt):
        return True
    return _is_program_cancelled(error)


def is_cancellation(error: BaseException) -> bool:
    """Return whether this is asyncio's `CancelledError`, or a group of nothing else."""
    if isinstance(error, BaseExceptionGroup):
        return all(map(is_cancellation, error.exceptions))
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and isinstance(error, asyncio.CancelledError)


def _is_program_cancelled(error: BaseException) -> bool:
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or not is_cancellation(error):
        return False
    task = asyncio.current_task() if asyncio._get_running_loop() is not None else None
    return task is not None and task.cancelling() > 0
