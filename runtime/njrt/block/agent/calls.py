"""Calls of the program's functions: under the time limit of code, and with exceptions as refusals.

call_in_time(30.0, lambda: reserve(latte, 3))      "reserved"
                                                   Refusal("ValueError: only 2 left")
                                                   raises CodeTimeLimitError after 30 seconds
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from njrt.data.timeouts import DeadlineExceeded, call_with_timeout
from njrt.effects import Refusal
from njrt.errors import NaturalError
from njrt.execution.execute import make_time_limit_error
from njrt.execution.interruptions import is_interruption
from njrt.execution.tracebacks import format_error, is_stack_deep

T = TypeVar("T")


def call_in_time(seconds: float | None, action: Callable[[], T]) -> T | Refusal:
    """Call a function of the program in at most `seconds`; return its exception as a refusal."""
    try:
        return limit_time(seconds, action)
    except Exception as error:
        return make_refusal(error)


def limit_time(seconds: float | None, action: Callable[[], T]) -> T:
    """Call a function in at most `seconds`; raise CodeTimeLimitError when they are over."""
    try:
        return call_with_timeout(seconds, action)
    except DeadlineExceeded as error:
        raise make_time_limit_error(error) from None


def make_refusal(error: Exception) -> Refusal:
    """Return an exception of the program as a refusal; re-raise it if it must leave the block."""
    is_ours = isinstance(error, NaturalError) or is_interruption(error)
    if is_ours or (isinstance(error, RecursionError) and is_stack_deep()):
        raise error
    return Refusal(format_error(error))
