"""Sessions with MCP servers, on one event loop in a separate thread, for synchronous and asynchronous callers.

    session = Session(make_client)
    submit(session.call("now", {}, 60, None))      a Future; the session is opened first, and reopened if it was lost

The SDK's client must be entered and left by the same task, so one task holds it as long as it is open.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from weakref import WeakSet

from njrt.context import free_in_child
from njrt.errors import ConfigurationError

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult

T = TypeVar("T")

THREAD_NAME = "njrt-mcp"
EXPIRED = "Session terminated"
"""The SDK's text for a server that no longer knows the session, so that the call was not made."""
CLOSE_SECONDS = 5.0
"""How long an ending process waits for its servers."""


class ProgressCallback(Protocol):
    """Called with each message about a call's progress."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Take one message."""


class SessionLostError(Exception):
    """The connection was lost; `was_sent` is True if a call may have reached the server."""

    def __init__(self, reason: str, was_sent: bool) -> None:
        super().__init__(reason)
        self.was_sent = was_sent


class Session:
    """A session with one server (state: the client while it is open). Its coroutines run on the loop of `submit`."""

    def __init__(
        self,
        make_client: Callable[[], AbstractAsyncContextManager[Client]],
        is_ended: Callable[[], bool],
    ) -> None:
        self._make_client = make_client
        self._is_ended = is_ended
        self._client: Client | None = None
        self._holder: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._opening = asyncio.Lock()
        self._calls = 0
        self._is_refused = False

    async def call(
        self, tool: str, arguments: dict[str, Any], seconds: float, progress: ProgressCallback
    ) -> CallToolResult:
        """Call a tool; raise SessionLostError, TimeoutError, or MCPError if the server refuses the call."""
        from mcp import MCPError

        async with asyncio.timeout(seconds):
            client = await self._open()
            self._calls += 1
            try:
                return await client.call_tool(tool, arguments, progress_callback=progress)
            except Exception as error:
                if not _is_lost(error):
                    raise
                reason = str(error) if isinstance(error, MCPError) else _describe(error)
                is_alone = self._calls == 1
            finally:
                self._calls -= 1
            await self.close()
            was_sent = reason != EXPIRED and not (is_alone and self._is_refused)
            raise SessionLostError(reason, was_sent)

    async def list_tools(self, seconds: float) -> tuple[Client, list[Any]]:
        """Return the client and all the server's tools; raises SessionLostError and TimeoutError like `call`."""
        async with asyncio.timeout(seconds):
            client = await self._open()
            found, cursors = list[Any](), [""]
            while cursors.count(cursors[-1]) == 1:  # no page is requested twice
                page = await client.list_tools(cursor=cursors[-1] or None)
                found += page.tools
                cursors.append(page.next_cursor or "")
            return client, found

    async def close(self) -> None:
        """End the session; the next call opens a new one."""
        holder, self._holder, self._client = self._holder, None, None
        self._closing.set()
        if holder is not None:
            await asyncio.wait([holder], timeout=CLOSE_SECONDS)

    async def _open(self) -> Client:
        async with self._opening:
            if self._holder is not None and (self._holder.done() or self._is_ended()):
                await self.close()  # lost since the last call: a new session sends this one
            if self._client is None:
                self._closing = asyncio.Event()
                opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
                self._holder = asyncio.create_task(self._hold(opened, self._closing))
                try:
                    self._client = await opened
                except BaseException:
                    self._closing.set()
                    self._holder.cancel()
                    raise
            return self._client

    async def _hold(self, opened: asyncio.Future[Client], closing: asyncio.Event) -> None:
        """Hold an open client until the session is closed."""
        self._is_refused = False
        try:
            async with self._make_client() as client:
                if not opened.cancelled():
                    opened.set_result(client)
                    await closing.wait()
        except BaseException as error:
            self._is_refused = _describe(error).startswith("ConnectError:")
            if not opened.done():
                is_ours = isinstance(error, ConfigurationError)
                lost = SessionLostError(_describe(error), was_sent=False)
                opened.set_exception(error if is_ours else lost)
            if isinstance(error, asyncio.CancelledError):
                raise


def _is_lost(error: Exception) -> bool:
    """Return whether an error means a lost connection rather than a refused call."""
    import anyio
    from mcp import MCPError
    from mcp.types import CONNECTION_CLOSED

    if isinstance(error, MCPError):  # servers use this code for errors of tools, too
        is_closed = str(error).startswith(("Connection closed", "SSE stream "))
        return (error.code == CONNECTION_CLOSED and is_closed) or str(error) == EXPIRED
    lost = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError)
    return isinstance(error, lost) or type(error).__module__.partition(".")[0] == "httpx2"


def _describe(error: BaseException) -> str:
    """Describe the first real error in a group of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


# ── the loop ─────────────────────────────────────────────────────────────────────────────────────


_loops: dict[int, asyncio.AbstractEventLoop] = {}
"""The event loop of this process, under its process id: a fork gets a new loop."""
_starting = free_in_child(threading.RLock())
_sessions: WeakSet[Session] = WeakSet()


def submit(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Run a coroutine on the loop; cancelling the future cancels it."""
    with _starting:
        if (process := os.getpid()) not in _loops:
            loop = _loops[process] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name=THREAD_NAME, daemon=True).start()
    return asyncio.run_coroutine_threadsafe(coroutine, _loops[process])


def is_on_loop() -> bool:
    """Return whether this thread runs the loop, so that it would wait for itself forever."""
    return threading.current_thread().name == THREAD_NAME


def open_session(
    make_client: Callable[[], AbstractAsyncContextManager[Client]], is_ended: Callable[[], bool]
) -> Session:
    """Return a session that is closed at the end of the process; call this on the loop.

    `is_ended` returns whether the server has closed the last client's connection.
    """
    session = Session(make_client, is_ended)
    _sessions.add(session)
    return session


@atexit.register
def _close_all() -> None:
    if os.getpid() not in _loops:
        return

    async def close() -> None:
        await asyncio.gather(*(session.close() for session in list(_sessions)))

    with suppress(Exception):
        submit(close()).result(CLOSE_SECONDS)
