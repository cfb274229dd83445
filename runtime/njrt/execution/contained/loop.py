"""The event loop of contained code, which waits for nothing but time: calls are made in turn.

await gather(fetch(1), fetch(2))      fetch(2) starts when fetch(1) has ended
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

_LONG_SECONDS = 3600.0


class ChildLoop(asyncio.BaseEventLoop):
    """An event loop that only waits for time to pass."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = self  # `select` below is all that the base class asks of it

    def select(self, timeout: float | None) -> list[Any]:
        time.sleep(_LONG_SECONDS if timeout is None else max(timeout, 0))
        return []

    def _process_events(self, events: list[Any]) -> None: ...

    def _write_to_self(self) -> None: ...


def run_coroutine(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine to its end."""
    loop = ChildLoop()
    asyncio.events._set_running_loop(None)
    loop.set_exception_handler(lambda *_: None)
    return loop.run_until_complete(loop.create_task(coroutine))
