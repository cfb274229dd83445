"""Run coroutines that never wait, without an event loop.

    run_without_waiting(model.answer(request, calls))       what it returns, or raises

Code that is written once, `async`, serves synchronous programs so: what it awaits blocks instead.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_without_waiting(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends, without an event loop, and return its result."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    except RuntimeError as error:
        if isinstance(error.__cause__, StopIteration) and "coroutine raised" in str(error):
            raise error.__cause__ from None  # as a plain function would have raised it (PEP 479)
        raise
    coroutine.close()
    raise RuntimeError("a coroutine waited where nothing can be awaited")
