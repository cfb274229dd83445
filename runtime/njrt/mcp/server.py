"""An MCP server and calls of its tools, for the functions that `njc mcp add` writes.

    server = McpServer("files", command=["npx", "-y", "server-filesystem", "."])
    server.call("read_text_file", {"path": "a.txt"})                         "a text"
    server.call("list_tables", {}, result=list[Table], wrapped=True)         [Table(name="users")]

The first call starts the server or opens the URL. Calls by a block's code pass the gate
(`njrt.gates`); calls by the program itself are recorded and replayed by `njrt.mcp.recorded`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from njrt.dataclass_json import describe_validation_error
from njrt.errors import ConfigurationError, require_packages
from njrt.mcp.recorded import use_recording
from njrt.mcp.results import ToolConnectionError, ToolError, ToolTimeoutError, read_result
from njrt.mcp.session import THREAD_NAME, Session, SessionLostError, close_at_exit, submit
from njrt.records import record

if TYPE_CHECKING:
    from mcp import Client

_POLL_SECONDS = 0.05
"""How often a waiting call lets its thread be stopped."""


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
    """A server and the session with it (state: the session, after the first call).

    Threads, tasks and forks may share a server; a fork opens a session of its own.
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
        self._session: Session | None = None
        self._process = 0
        self._log = ""

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

        async def fetch() -> tuple[str, list[Any]]:
            async with self._translated("tools/list"):
                client = await self._get_session().open()
                tools, cursors = [], [""]
                while cursors.count(cursors[-1]) == 1:  # no page is requested twice
                    page = await client.list_tools(cursor=cursors[-1] or None)
                    tools += page.tools
                    cursors.append(page.next_cursor or "")
                info = client.server_info
                return f"{info.name} {info.version}".strip() if info else "", tools

        found: tuple[str, list[Any]] = _wait(submit(fetch()))
        return found

    def close(self) -> None:
        """End the session and the server's process; the next call opens a new session."""
        if self._session is not None and self._process == os.getpid():
            submit(self._session.close()).result()

    async def _call(self, tool: str, sent: dict[str, Any], form: CallForm) -> Any:
        async def report(progress: float, total: float | None, message: str | None) -> None:
            if self.on_progress is not None:
                self.on_progress(Progress(tool, progress, total, message or ""))

        async with self._translated(tool):
            repeats = form.get("repeatable", False)
            result = await self._get_session().call(tool, sent, report, repeats)
            return read_result(result, form.get("result"), form.get("wrapped", False))

    def _get_session(self) -> Session:
        if self._session is None or self._process != os.getpid():
            require_packages(f"the MCP server {self.name}", "njpy-runtime[mcp]", "mcp")
            self._session, self._process = Session(self._connect), os.getpid()
            close_at_exit(self._session)
        return self._session

    @asynccontextmanager
    async def _connect(self) -> AsyncIterator[Client]:
        from mcp import Client

        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
            try:
                async with self._open(log) as transport, Client(transport) as client:
                    yield client
            finally:
                log.seek(0)
                self._log = log.read()[-1000:].strip() or self._log

    @asynccontextmanager
    async def _open(self, log: Any) -> AsyncIterator[Any]:
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

    @asynccontextmanager
    async def _translated(self, tool: str) -> AsyncIterator[None]:
        """Limit the time, and raise the errors of `njrt.mcp` instead of the SDK's."""
        from mcp import MCPError
        from pydantic import ValidationError

        name, place = f"{self.name}.{tool}", self.url or f"`{' '.join(self.command)}`"
        try:
            async with asyncio.timeout(self.timeout):
                yield
        except TimeoutError:
            text = f"{name} has not answered in {self.timeout:g} seconds (timeout=)"
            raise ToolTimeoutError(text) from None
        except SessionLostError as error:
            text = f"{name}: no connection to {place}: {error}{self._format_log()}"
            raise ToolConnectionError(text) from None
        except ValidationError as error:
            text = f"{name}: the answer is not valid: {describe_validation_error(error)}"
            raise ToolError(text) from None
        except MCPError as error:
            raise ToolError(f"{name}: {error}{self._format_log()}") from None
        except (ToolError, RuntimeError, ValueError) as error:  # the SDK checks results
            raise ToolError(f"{name}: {error}") from None

    def _format_log(self) -> str:
        return f"\nthe server has answered: {self._log}" if self._log else ""


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
