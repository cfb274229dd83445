"""The session with an MCP server, by the official SDK, and calls of its tools.

server = McpServer("clock", command=["python", "-m", "mcp_server_time"])
server.call("get_current_time", {"timezone": "UTC"}, structured=True)      {"datetime": ...}
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from njrt.errors import ConfigurationError, require_packages
from njrt.models.network import get_network

if TYPE_CHECKING:
    from anyio import CancelScope
    from mcp import Client
    from mcp.types import CallToolResult

T = TypeVar("T")


class ToolError(RuntimeError):
    """A tool failed; the text is the server's."""


class ToolTimeoutError(ToolError, TimeoutError):
    """A tool did not answer in time. The server was sent a cancellation."""


class ToolConnectionError(ToolError, ConnectionError):
    """The server cannot be reached, or the connection was lost during a call."""


class McpServer:
    """A server and the session with it (state: the task that holds the SDK's client open).

    Threads, tasks and forks may share a server; a fork opens a session of its own. All sessions of
    a process are on the event loop of requests to models, and end with the process.
    """

    def __init__(
        self,
        name: str,
        *,
        command: Sequence[str] = (),
        url: str = "",
        env: Sequence[str] = (),
        headers: Mapping[str, str] | None = None,
        timeout: float = 60.0,
    ) -> None:
        """Describe a server; nothing is started.

        Args:
            name: the name in messages and recordings.
            command: the command that starts the server, which uses standard input and output.
            url: the URL of a running server (streamable HTTP).
            env: environment variables for the server, besides basic ones such as PATH and HOME.
            headers: HTTP headers; `${NAME}` in a value is an environment variable.
            timeout: seconds for one call, including the start of the server.
        """
        require_packages(f"the MCP server {name}", "njpy-runtime[mcp]", "mcp")
        if bool(command) == bool(url):
            raise ConfigurationError(f"the MCP server {name} needs a command or a URL, not both")
        self.name, self.url, self.command = name, url, tuple(command)
        self.env, self.headers, self.timeout = tuple(env), dict(headers or {}), timeout
        self._status = ""
        """The HTTP status of the last request, if it is an error's."""
        self._process = 0
        self._opened: asyncio.Future[Client]
        self._holder: asyncio.Task[None] | None = None
        self._scope: CancelScope

    def call(self, tool: str, arguments: Mapping[str, Any], *, structured: bool = False) -> Any:
        """Call a tool by its name at the server, and return its result; None is no argument.

        The result is the text, or with `structured` the structured content, which the SDK has
        checked by the tool's schema. Raises ToolError if the tool failed, ToolTimeoutError or
        ToolConnectionError if it was not reached.
        """
        sent = {name: value for name, value in arguments.items() if value is not None}

        async def ask(client: Client) -> Any:
            return read_result(await client.call_tool(tool, sent), structured)

        return get_network().run(self._ask(tool, ask))

    def list_tools(self) -> tuple[str, list[Any]]:
        """Return the server's name with its version, and the SDK's tools; raises as `call`."""

        async def fetch(client: Client) -> tuple[str, list[Any]]:
            page = await client.list_tools()
            tools = page.tools
            while page.next_cursor:
                page = await client.list_tools(cursor=page.next_cursor)
                tools += page.tools
            info = client.server_info
            return f"{info.name} {info.version}".strip() if info else "", tools

        return get_network().run(self._ask("tools/list", fetch))

    def close(self) -> None:
        """End the session and the server's process; the next call opens a new session."""
        if self._process == os.getpid():
            get_network().run(self._close())

    # ── the session, on the loop ─────────────────────────────────────────────────────────────────

    async def _ask(self, tool: str, ask: Callable[[Client], Awaitable[T]]) -> T:
        """Ask the server; raise the errors of `njrt.mcp` instead of the SDK's."""
        name, holder = f"{self.name}.{tool}", None
        try:
            async with asyncio.timeout(self.timeout):
                client = await self._open()
                holder = self._holder
                return await ask(client)
        except TimeoutError:
            text = f"{name} has not answered in {self.timeout:g} seconds (server.timeout)"
            raise ToolTimeoutError(text) from None
        except Exception as error:
            status = self._status and f" ({self._status})"
            if not _is_lost(error):
                raise ToolError(f"{name}: {error}{status}") from None
            if holder is not None and self._holder is holder:  # no other call closed it
                await self._close()
            made = "" if holder is None else "; the call may have been made"
            place = self.url or f"`{' '.join(self.command)}`"
            text = f"{name}: no connection to {place}: {error}{status}{made}"
            raise ToolConnectionError(text) from None

    async def _open(self) -> Client:
        """Return the client of the open session, or of a new one."""
        import anyio

        is_here = self._process == os.getpid()  # a fork opens its own
        if self._holder is None or self._holder.done() or not is_here:
            self._process = os.getpid()
            self._opened = asyncio.get_running_loop().create_future()
            self._scope = anyio.CancelScope(deadline=anyio.current_time() + self.timeout)
            self._holder = asyncio.create_task(self._hold(self._opened, self._scope))
        return await asyncio.shield(self._opened)

    async def _hold(self, opened: asyncio.Future[Client], scope: CancelScope) -> None:
        """Hold the client open: the SDK's client must be entered and left by one task."""
        failure: Exception = TimeoutError()
        try:
            with scope:
                async with self._connect() as client:
                    scope.deadline = math.inf
                    opened.set_result(client)
                    await asyncio.Event().wait()  # until the scope is cancelled
        except Exception as error:
            inner: BaseException = error
            while isinstance(inner, BaseExceptionGroup):
                inner = inner.exceptions[0]
            failure = ToolConnectionError(f"{type(inner).__name__}: {inner}")
        if not opened.done():
            opened.set_exception(failure)

    async def _close(self) -> None:
        if self._holder is not None:
            holder, self._holder = self._holder, None
            self._scope.cancel()
            await asyncio.wait([holder])

    @asynccontextmanager
    async def _connect(self) -> AsyncIterator[Client]:
        """Yield the SDK's client; a server that is started writes its log to standard error."""
        import httpx2
        from mcp import Client, StdioServerParameters
        from mcp.client.stdio import stdio_client
        from mcp.client.streamable_http import streamable_http_client

        if self.url:
            headers = {key: os.path.expandvars(value) for key, value in self.headers.items()}
            seconds, hooks = httpx2.Timeout(30.0, read=None), {"response": [self._note_status]}
            async with (
                httpx2.AsyncClient(headers=headers, timeout=seconds, event_hooks=hooks) as http,
                Client(streamable_http_client(self.url, http_client=http)) as client,
            ):
                yield client
            return
        parameters = StdioServerParameters(
            command=self.command[0],
            args=list(self.command[1:]),
            env={name: os.environ[name] for name in self.env if name in os.environ},
            encoding_error_handler="replace",
        )
        async with Client(stdio_client(parameters)) as client:
            yield client

    async def _note_status(self, response: Any) -> None:
        status = f"HTTP {response.status_code} {response.reason_phrase}"
        self._status = status if response.is_error else ""


def read_result(result: CallToolResult, is_structured: bool) -> Any:
    """Return a result's text or structured content; raise ToolError if the tool failed.

    A structured content of one field `result`, as the SDKs wrap plain values, is that value.
    """
    text = "\n".join(
        part.text if part.type == "text" else f"[{part.type}: left out]" for part in result.content
    )
    if result.is_error:
        raise ToolError(text or "the tool has failed")
    content = result.structured_content
    if is_structured:
        return content["result"] if content and [*content] == ["result"] else content
    return text


def _is_lost(error: Exception) -> bool:
    """Return whether an error means that there is no session, not that a call was refused."""
    import anyio
    import httpx2
    from mcp import MCPError

    if isinstance(error, MCPError):  # servers use the SDK's code for errors of their own, too
        return str(error).startswith(("Connection closed", "SSE stream ", "Session "))
    lost = (OSError, anyio.ClosedResourceError, anyio.BrokenResourceError, httpx2.HTTPError)
    return isinstance(error, lost)


logging.getLogger("mcp").addHandler(logging.NullHandler())
"""The SDK's errors are raised here; a program that wants its log configures logging."""
