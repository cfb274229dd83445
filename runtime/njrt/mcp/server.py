"""An MCP server and calls of its tools, for the functions that `njc mcp add` writes.

    server = McpServer("files", command=["npx", "-y", "server-filesystem", "."])
    server.call("read_text_file", {"path": "a.txt"})                         "a text"
    server.call("list_tables", {}, result=list[Table], wrapped=True)         [Table(name="users")]

The first call starts the server or opens the URL. Calls by a block's code pass the gate
(`njrt.execution.gates`); calls by the program itself are recorded and replayed by
`njrt.mcp.recorded`.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import string
import tempfile
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import wait
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

from njrt.errors import ConfigurationError, require_packages
from njrt.mcp.recorded import use_recording
from njrt.mcp.results import ToolConnectionError, ToolError, ToolTimeoutError, read_result
from njrt.models.network import Network, get_network

if TYPE_CHECKING:
    from anyio import CancelScope
    from mcp import Client

T = TypeVar("T")

_POLL_SECONDS = 0.05
"""How often a waiting call lets its thread be stopped."""
_EXPIRED = "Session "
"""How the protocol's errors begin that say that a session has ended and the call was not made."""


class CallForm(TypedDict, total=False):
    """The form of a tool call, besides its name and arguments, and of its result."""

    result: Any
    """The type of the structured content; None for a tool that returns text, unless `wrapped`."""
    wrapped: bool
    """The structured content has the value, of the type `result`, in its field `result`."""
    optional: Sequence[str]
    """Arguments that are left out of the call if they are None."""
    repeatable: bool
    """The tool declares that a call may be made twice, so it is repeated in a new session."""


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
        if bool(command) == bool(url):
            raise ConfigurationError(f"the MCP server {name} needs a command or a URL, not both")
        self.name, self.url, self.command = name, url, tuple(command)
        self.env, self.headers, self.timeout = tuple(env), dict(headers or {}), timeout
        self._log = ""
        self._process = 0
        self._opened: asyncio.Future[Client]
        self._holder: asyncio.Task[None] | None = None
        self._scope: CancelScope

    def call(self, tool: str, arguments: Mapping[str, Any], **form: Unpack[CallForm]) -> Any:
        """Call a tool by its name at the server, and return its result.

        Raises ToolError if the tool failed, ToolTimeoutError or ToolConnectionError if it was not
        reached, and RecordingMissingError if a replayed recording does not have this call.
        """
        sent = _to_json(arguments, form.get("optional", ()))
        with use_recording(f"{self.name}.{tool}", sent, form.get("repeatable", False)) as slot:
            if not slot.was_made:
                slot.value = _run(_get_network(), self._call(tool, sent, form))
        return slot.value

    async def acall(self, tool: str, arguments: Mapping[str, Any], **form: Unpack[CallForm]) -> Any:
        """Do the same in a coroutine; a cancelled coroutine cancels the call."""
        sent = _to_json(arguments, form.get("optional", ()))
        with use_recording(f"{self.name}.{tool}", sent, form.get("repeatable", False)) as slot:
            if not slot.was_made:
                slot.value = await _get_network().arun(self._call(tool, sent, form))
        return slot.value

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

        return _run(_get_network(), self._ask("tools/list", fetch, True))

    def close(self) -> None:
        """End the session and the server's process; the next call opens a new session."""
        if self._process == os.getpid():
            _run(_get_network(), self._close())

    async def _call(self, tool: str, sent: dict[str, Any], form: CallForm) -> Any:
        async def ask(client: Client) -> Any:
            result = await client.call_tool(tool, sent)
            return read_result(result, form.get("result"), form.get("wrapped", False))

        return await self._ask(tool, ask, form.get("repeatable", False))

    # ── the session, on the loop ─────────────────────────────────────────────────────────────────

    async def _ask(self, tool: str, ask: Callable[[Client], Awaitable[T]], repeats: bool) -> T:
        """Ask the server; in a lost session again if it `repeats`, or if the call was not made."""
        with self._translated(tool):
            async with asyncio.timeout(self.timeout):
                client = await self._open()
                holder = self._holder
                try:
                    return await ask(client)
                except Exception as error:
                    if not _is_lost(error):
                        raise
                    if self._holder is holder:  # else another call has closed it
                        await self._close()
                    if not (repeats or str(error).startswith(_EXPIRED)):
                        made = f"{_describe(error)}; the call may have been made"
                        raise ToolConnectionError(made) from None
                return await ask(await self._open())

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
            is_ours = isinstance(error, ConfigurationError)
            failure = error if is_ours else ToolConnectionError(_describe(error))
        if not opened.done():
            opened.set_exception(failure)

    async def _close(self) -> None:
        if self._holder is not None:
            holder, self._holder = self._holder, None
            self._scope.cancel()
            await asyncio.wait([holder])

    @asynccontextmanager
    async def _connect(self) -> AsyncIterator[Client]:
        """Yield the SDK's client; what the server has logged is kept for messages."""
        import httpx2
        from mcp import Client, StdioServerParameters
        from mcp.client.stdio import stdio_client
        from mcp.client.streamable_http import streamable_http_client

        self._log = ""
        if self.url:
            headers = {name: self._expand(value) for name, value in self.headers.items()}
            seconds, hooks = httpx2.Timeout(30.0, read=None), {"response": [self._note_status]}
            async with (
                httpx2.AsyncClient(headers=headers, timeout=seconds, event_hooks=hooks) as http,
                Client(streamable_http_client(self.url, http_client=http)) as client,
            ):
                yield client
            return
        env = {name: os.environ[name] for name in self.env if name in os.environ}
        parameters = StdioServerParameters(
            command=self.command[0],
            args=list(self.command[1:]),
            env=env,
            encoding_error_handler="replace",
        )
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
            try:
                async with Client(stdio_client(parameters, log)) as client:
                    yield client
            finally:
                log.seek(0)
                self._log = log.read()[-1000:].strip()

    async def _note_status(self, response: Any) -> None:
        if response.request.method == "POST":
            status = f"HTTP {response.status_code} {response.reason_phrase}"
            self._log = status if response.is_error else ""

    def _expand(self, value: str) -> str:
        """Return a header with its variables; raises ConfigurationError if one is not set."""
        try:
            return string.Template(value).substitute(os.environ)
        except KeyError as error:
            needed = f"the MCP server {self.name} needs the variable {error.args[0]}"
            raise ConfigurationError(needed) from None

    @contextmanager
    def _translated(self, tool: str) -> Iterator[None]:
        """Raise the errors of `njrt.mcp` instead of the SDK's, with the name of the tool."""
        name = f"{self.name}.{tool}"
        try:
            yield
        except ConfigurationError:
            raise
        except TimeoutError:
            text = f"{name} has not answered in {self.timeout:g} seconds (timeout=)"
            raise ToolTimeoutError(text) from None
        except Exception as error:
            log = f"\nthe server has answered: {self._log}" if self._log else ""
            if not (isinstance(error, ToolConnectionError) or _is_lost(error)):
                raise ToolError(f"{name}: {error}{log}") from None
            place = self.url or f"`{' '.join(self.command)}`"
            text = f"{name}: no connection to {place}: {error}{log}"
            raise ToolConnectionError(text) from None


def _is_lost(error: Exception) -> bool:
    """Return whether an error of a call means a lost session, not a refused call."""
    import anyio
    import httpx2
    from mcp import MCPError

    if isinstance(error, MCPError):  # servers use the SDK's code for errors of their own, too
        return str(error).startswith(("Connection closed", "SSE stream ", _EXPIRED))
    lost = (OSError, anyio.ClosedResourceError, anyio.BrokenResourceError, httpx2.HTTPError)
    return isinstance(error, lost) and not isinstance(error, ToolError)


def _describe(error: BaseException) -> str:
    """Describe the first real error in a group of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


# ── the loop ─────────────────────────────────────────────────────────────────────────────────────


def _get_network() -> Network:
    """Return the event loop of all sessions, which requests to models share."""
    require_packages("a tool of an MCP server", "njpy-runtime[mcp]", "mcp")
    return get_network()


def _run(network: Network, call: Coroutine[Any, Any, T]) -> T:
    """Run a call and wait in short steps, so that time limits and Ctrl-C end it."""
    future = network.start(call)
    try:
        while not wait([future], _POLL_SECONDS).done:
            continue
        return future.result()
    finally:
        future.cancel()


def _to_json(arguments: Mapping[str, Any], optional: Sequence[str]) -> dict[str, Any]:
    """Return arguments as JSON: models under the schema's names, without defaults."""
    from pydantic import TypeAdapter

    given = {k: v for k, v in arguments.items() if v is not None or k not in optional}
    made: dict[str, Any] = TypeAdapter(dict[str, Any]).dump_python(
        given, mode="json", by_alias=True, exclude_defaults=True
    )
    return made


logging.getLogger("mcp").addHandler(logging.NullHandler())
"""The SDK's errors are raised here; a program that wants its log configures logging."""
