"""An MCP server and calls of its tools, for the functions that `njc mcp add` writes.

    server = McpServer("files", command=["npx", "-y", "server-filesystem", "."])
    server.call("read_text_file", {"path": "a.txt"})                         "a text"
    server.call("list_tables", {}, result=list[Table], wrapped=True)         [Table(name="users")]

The first call starts the server or opens the URL. Calls by a block's code pass the gate
(`njrt.gates`); calls by the program itself are recorded and replayed by `njrt.mcp.recorded`.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import re
import tempfile
import threading
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import Future, wait
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

from njrt.context import free_in_child
from njrt.dataclass_json import describe_validation_error
from njrt.errors import ConfigurationError, require_packages
from njrt.mcp.recorded import use_recording
from njrt.mcp.results import ToolConnectionError, ToolError, ToolTimeoutError, read_result
from njrt.records import record

if TYPE_CHECKING:
    from mcp import Client

T = TypeVar("T")

THREAD_NAME = "njrt-mcp"
CLOSE_SECONDS = 5.0
"""How long a closed session waits for its server."""
_POLL_SECONDS = 0.05
"""How often a waiting call lets its thread be stopped."""
_EXPIRED = "Session "
"""How the protocol's errors begin that say that a session has ended and the call was not made."""


@record
class Progress:
    """A running tool's message about its progress; `total` may be unknown."""

    tool: str
    done: float
    total: float | None
    message: str


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
    """A server and the session with it (state: the SDK's client, while it is open).

    Threads, tasks and forks may share a server; a fork opens a session of its own. All sessions of
    a process are on one event loop, in a thread, and end with the process.
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
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        """Describe a server; nothing is started.

        Args:
            name: the name in messages and recordings.
            command: the command that starts the server, which uses standard input and output.
            url: the URL of a running server (streamable HTTP).
            env: environment variables for the server, besides basic ones such as PATH and HOME.
            headers: HTTP headers; `${NAME}` in a value is an environment variable.
            timeout: seconds for one call, including the start of the server.
            on_progress: called with each message about a tool's progress, in another thread.
        """
        if bool(command) == bool(url):
            raise ConfigurationError(f"the MCP server {name} needs a command or a URL, not both")
        self.name, self.url, self.command = name, url, tuple(command)
        self.env, self.headers = tuple(env), dict(headers or {})
        self.timeout, self.on_progress = timeout, on_progress
        self._log = ""
        self._process = 0
        self._client: Client | None = None
        self._holder: asyncio.Task[None] | None = None
        self._opening, self._closing = asyncio.Lock(), asyncio.Event()

    def call(self, tool: str, arguments: Mapping[str, Any], **form: Unpack[CallForm]) -> Any:
        """Call a tool by its name at the server, and return its result.

        Raises ToolError if the tool failed, ToolTimeoutError or ToolConnectionError if it was not
        reached, and RecordingMissingError if a replayed recording does not have this call.
        """
        if threading.current_thread().name == THREAD_NAME:
            raise ToolError(f"{self.name}.{tool}: on_progress cannot wait for a tool")
        sent = _to_json(arguments, form.get("optional", ()))
        with use_recording(f"{self.name}.{tool}", sent, form.get("repeatable", False)) as slot:
            if not slot.was_made:
                slot.value = _wait(submit(self._call(tool, sent, form)))
        return slot.value

    async def acall(self, tool: str, arguments: Mapping[str, Any], **form: Unpack[CallForm]) -> Any:
        """Do the same in a coroutine; a cancelled coroutine cancels the call."""
        sent = _to_json(arguments, form.get("optional", ()))
        with use_recording(f"{self.name}.{tool}", sent, form.get("repeatable", False)) as slot:
            if not slot.was_made:
                slot.value = await asyncio.wrap_future(submit(self._call(tool, sent, form)))
        return slot.value

    def list_tools(self) -> tuple[str, list[Any]]:
        """Return the server's name with its version, and the SDK's tools; raises as `call`."""

        async def fetch(client: Client) -> tuple[str, list[Any]]:
            tools, cursors = [], [""]
            while cursors.count(cursors[-1]) == 1:  # no page is requested twice
                page = await client.list_tools(cursor=cursors[-1] or None)
                tools += page.tools
                cursors.append(page.next_cursor or "")
            info = client.server_info
            return f"{info.name} {info.version}".strip() if info else "", tools

        found: tuple[str, list[Any]] = _wait(submit(self._ask("tools/list", fetch, repeats=True)))
        return found

    def close(self) -> None:
        """End the session and the server's process; the next call opens a new session."""
        if self._process == os.getpid():
            submit(self._close()).result()

    async def _call(self, tool: str, sent: dict[str, Any], form: CallForm) -> Any:
        async def report(progress: float, total: float | None, message: str | None) -> None:
            if self.on_progress is not None:
                self.on_progress(Progress(tool, progress, total, message or ""))

        async def ask(client: Client) -> Any:
            result = await client.call_tool(tool, sent, progress_callback=report)
            return read_result(result, form.get("result"), form.get("wrapped", False))

        return await self._ask(tool, ask, form.get("repeatable", False))

    # ── the session, on the loop ─────────────────────────────────────────────────────────────────

    async def _ask(self, tool: str, ask: Callable[[Client], Awaitable[T]], repeats: bool) -> T:
        """Ask the server; in a lost session again if it `repeats`, or if the call was not made."""
        with self._translated(tool):
            async with asyncio.timeout(self.timeout):
                for is_last in (False, True):
                    client = await self._open()
                    try:
                        return await ask(client)
                    except Exception as error:
                        if not _is_lost(error):
                            raise
                        if self._client is client:  # else another call has closed it
                            await self._close()
                        is_refused = str(error).startswith(_EXPIRED)
                        if is_last or not (repeats or is_refused):
                            sent = "" if is_refused else "; the call may have been made"
                            raise ToolConnectionError(_describe(error) + sent) from None
        raise AssertionError

    async def _open(self) -> Client:
        """Return the client; raises ToolConnectionError if the server cannot be reached."""
        if self._process != os.getpid():  # the first call, or a fork's
            self._process, self._client, self._opening = os.getpid(), None, asyncio.Lock()
            atexit.register(self._close_at_exit)
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

    async def _hold(self, opened: asyncio.Future[Client], closing: asyncio.Event) -> None:
        """Hold the client open: the SDK's client must be entered and left by one task."""
        try:
            async with self._connect() as client:
                opened.set_result(client)
                await closing.wait()
        except BaseException as error:
            if not opened.done():
                is_ours = isinstance(error, ConfigurationError)
                opened.set_exception(error if is_ours else ToolConnectionError(_describe(error)))
            if isinstance(error, asyncio.CancelledError):
                raise

    async def _close(self) -> None:
        holder, self._holder, self._client = self._holder, None, None
        self._closing.set()
        if holder is not None:
            await asyncio.wait([holder], timeout=CLOSE_SECONDS)

    def _close_at_exit(self) -> None:
        if self._process == os.getpid():
            with suppress(Exception):
                submit(self._close()).result(CLOSE_SECONDS)

    @asynccontextmanager
    async def _connect(self) -> AsyncIterator[Client]:
        from mcp import Client

        self._log = ""
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
            try:
                async with self._open_transport(log) as transport, Client(transport) as client:
                    yield client
            finally:
                log.seek(0)
                self._log = log.read()[-1000:].strip() or self._log

    @asynccontextmanager
    async def _open_transport(self, log: Any) -> AsyncIterator[Any]:
        """Yield the SDK's transport to the server, which writes its errors into a file."""
        import httpx2
        from mcp import StdioServerParameters
        from mcp.client.stdio import stdio_client
        from mcp.client.streamable_http import streamable_http_client

        if self.url:
            headers = {name: self._expand(value) for name, value in self.headers.items()}
            seconds, hooks = httpx2.Timeout(30.0, read=None), {"response": [self._note_status]}
            async with httpx2.AsyncClient(
                headers=headers, timeout=seconds, event_hooks=hooks
            ) as http:
                yield streamable_http_client(self.url, http_client=http)
            return
        program, *words = self.command
        env = {name: os.environ[name] for name in self.env if name in os.environ}
        parameters = StdioServerParameters(
            command=program, args=words, env=env, encoding_error_handler="replace"
        )
        yield stdio_client(parameters, log)

    async def _note_status(self, response: Any) -> None:
        if response.request.method == "POST":
            status = f"HTTP {response.status_code} {response.reason_phrase}"
            self._log = status if response.is_error else ""

    def _expand(self, value: str) -> str:
        """Return a header with its variables; raises ConfigurationError if one is not set."""

        def find(match: re.Match[str]) -> str:
            if match[1] not in os.environ:
                needed = f"the MCP server {self.name} needs the variable {match[1]}"
                raise ConfigurationError(needed)
            return os.environ[match[1]]

        return re.sub(r"\$\{(\w+)\}", find, value)

    @contextmanager
    def _translated(self, tool: str) -> Iterator[None]:
        """Raise the errors of `njrt.mcp` instead of the SDK's, with the name of the tool."""
        require_packages(f"the MCP server {self.name}", "njpy-runtime[mcp]", "mcp")
        from mcp import MCPError
        from pydantic import ValidationError

        name, place = f"{self.name}.{tool}", self.url or f"`{' '.join(self.command)}`"
        try:
            yield
        except ToolConnectionError as error:
            text = f"{name}: no connection to {place}: {error}{self._format_log()}"
            raise ToolConnectionError(text) from None
        except TimeoutError:
            text = f"{name} has not answered in {self.timeout:g} seconds (timeout=)"
            raise ToolTimeoutError(text) from None
        except ValidationError as error:
            text = f"{name}: the answer is not valid: {describe_validation_error(error)}"
            raise ToolError(text) from None
        except MCPError as error:
            raise ToolError(f"{name}: {error}{self._format_log()}") from None
        except (ToolError, RuntimeError, ValueError) as error:  # the SDK checks results
            if isinstance(error, ConfigurationError):
                raise
            raise ToolError(f"{name}: {error}") from None

    def _format_log(self) -> str:
        return f"\nthe server has answered: {self._log}" if self._log else ""


def _is_lost(error: Exception) -> bool:
    """Return whether an error of a call means a lost session, not a refused call."""
    import anyio
    from mcp import MCPError

    if isinstance(error, MCPError):  # servers use the SDK's code for errors of their own, too
        return str(error).startswith(("Connection closed", "SSE stream ", _EXPIRED))
    lost = (OSError, anyio.ClosedResourceError, anyio.BrokenResourceError)
    is_ours = isinstance(error, ToolError)
    return not is_ours and (isinstance(error, lost) or type(error).__module__.startswith("httpx2"))


def _describe(error: BaseException) -> str:
    """Describe the first real error in a group of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


# ── the loop ─────────────────────────────────────────────────────────────────────────────────────


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


def _wait(future: Future[Any]) -> Any:
    """Wait in short steps, so that time limits and Ctrl-C end a call."""
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
