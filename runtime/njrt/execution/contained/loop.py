"""The event loop of contained code: it waits for calls of the program instead of for sockets.

await gather(fetch(1), fetch(2))      two calls start in the program; the loop asks which ended
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class ChildLoop(asyncio.BaseEventLoop):
    """An event loop (state: what waits for a call of the program, by the call's number)."""

    def __init__(self, wait: Callable[[float | None], None]) -> None:
        super().__init__()
        self._selector = self  # `select` below is all that the base class asks of it
        self._wait_for_program = wait
        self.waiting: dict[int, asyncio.Future[Any]] = {}

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None or timeout > 0 or self.waiting:
            self._wait_for_program(timeout)
        return []

    def _process_events(self, events: list[Any]) -> None: ...

    def _write_to_self(self) -> None: ...


def run_coroutine(loop: ChildLoop, coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine to its end."""
    asyncio.events._set_running_loop(None)
    loop.set_exception_handler(lambda *_: None)
    return loop.run_until_complete(loop.create_task(coroutine))
