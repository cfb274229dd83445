"""One session with an MCP server, opened by the first call and again after it was lost.

    session = Session(connect)
    submit(session.call("now", {}, 60, None, repeats=True))      a Future

The SDK's client must be entered and left by one task, so a task holds it while it is open. All
sessions of a process are on one event loop in a thread, for synchronous and asynchronous callers.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from njrt.context import free_in_child
from njrt.errors import ConfigurationError

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult

T = TypeVar("T")

THREAD_NAME = "njrt-mcp"
CLOSE_SECONDS = 5.0
"""How long a closed session waits for its server."""
_EXPIRED = "Session "
"""How the protocol's errors begin that say that a session has ended and the call was not made."""


class SessionLostError(Exception):
    """The server cannot be reached, or the connection was lost during a call."""


class Session:
    """A session (state: the client while it is open). Its coroutines run on `submit`'s loop."""

    def __init__(self, connect: Callable[[], AbstractAsyncContextManager[Client]]) -> None:
        """Make a session; nothing is opened."""
        self._connect = connect
        self._opening = asyncio.Lock()
        self._client: Client | None = None
        self._holder: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    async def open(self) -> Client:
        """Return the client; raises SessionLostError if the server cannot be reached."""
        async with self._opening:
            if self._client is None:
                opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
                self._closing = asyncio.Event()
                self._holder = asyncio.create_task(self._hold(opened, self._closing))
                try:
                    self._client = await opened
                except asyncio.CancelledError:
                    self._holder.cancel()
                    raise
            return self._client

    async def call(
        self, tool: str, arguments: dict[str, Any], progress: Any, repeats: bool
    ) -> CallToolResult:
        """Call a tool; if the connection was lost, again if it `repeats`, else SessionLostError."""
        for is_last in (False, True):
            client = await self.open()
            try:
                return await client.call_tool(tool, arguments, progress_callback=progress)
            except Exception as error:
                if not _is_lost(error):
                    raise
                await self.close()
                is_refused = str(error).startswith(_EXPIRED)
                if is_last or not (repeats or is_refused):
                    sent = "" if is_refused else "; the call may have been made"
                    raise SessionLostError(_describe(error) + sent) from None
        raise AssertionError

    async def close(self) -> None:
        """End the session; the next call opens it again."""
        holder, self._holder, self._client = self._holder, None, None
        self._closing.set()
        if holder is not None:
            await asyncio.wait([holder], timeout=CLOSE_SECONDS)

    async def _hold(self, opened: asyncio.Future[Client], closing: asyncio.Event) -> None:
        try:
            async with self._connect() as client:
                opened.set_result(client)
                await closing.wait()
        except BaseException as error:
            if not opened.done():
                is_ours = isinstance(error, ConfigurationError)
                opened.set_exception(error if is_ours else SessionLostError(_describe(error)))
            if isinstance(error, asyncio.CancelledError):
                raise


def _is_lost(error: Exception) -> bool:
    """Return whether an error of a call means a lost session, not a refused call."""
    import anyio
    from mcp import MCPError

    if isinstance(error, MCPError):  # servers use the SDK's code for errors of their own, too
        return str(error).startswith(("Connection closed", "SSE stream ", _EXPIRED))
    lost = (OSError, anyio.ClosedResourceError, anyio.BrokenResourceError)
    return isinstance(error, lost) or type(error).__module__.startswith("httpx2")


def _describe(error: BaseException) -> str:
    """Describe the first real error in a group of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


_loops: dict[int, asyncio.AbstractEventLoop] = {}
"""The loop of this process, under its process id: a fork has its own."""
_starting = free_in_child(threading.Lock())


def submit(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Run a coroutine on the loop; cancelling the future cancels it."""
    with _starting:
        if (process := os.getpid()) not in _loops:
            loop = _loops[process] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name=THREAD_NAME, daemon=True).start()
    return asyncio.run_coroutine_threadsafe(coroutine, _loops[process])


def close_at_exit(session: Session) -> None:
    """Close a session at the end of the process that opened it."""
    process = os.getpid()

    def close() -> None:
        if os.getpid() == process:
            with suppress(Exception):
                submit(session.close()).result(CLOSE_SECONDS)

    atexit.register(close)
