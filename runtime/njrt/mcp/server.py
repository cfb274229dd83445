"""An MCP server and calls of its tools, for the functions that `njc mcp add` writes.

    server = McpServer("files", command=["npx", "-y", "@modelcontextprotocol/server-filesystem", "."])
    server.call("read_text_file", {"path": "a.txt"})                         "a text"
    server.call("list_tables", {}, result=list[Table], wrapped=True)         [Table(name="users")]

The first call starts the server or opens the URL. Calls by a block's code pass the gate (`njrt.gates`); calls by the
program itself are recorded and replayed here.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from njrt.dataclass_json import describe_validation_error
from njrt.effect_json import effect_to_json, format_call
from njrt.effects import Touch
from njrt.errors import (
    CallInDoubtError,
    ConfigurationError,
    RecordingMissingError,
    require_packages,
)
from njrt.gates import call_key
from njrt.mcp.results import ToolConnectionError, ToolError, ToolTimeoutError, read_result
from njrt.mcp.sessions import Session, SessionLostError, is_on_loop, open_session, submit
from njrt.observability.accounts import format_error_line
from njrt.records import record

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult

    from njrt.persistence.recorder import Recorder

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
    """The type of the structured content; None for a tool that returns text, unless it is `wrapped`."""
    wrapped: bool
    """The structured content has the value, of the type `result`, in its field `result`."""
    optional: Sequence[str]
    """Arguments that are left out of the call if they are None."""
    repeatable: bool
    """The tool declares that a call may be made twice, so it is repeated after a lost connection."""


@record
class _Call:
    server: str
    tool: str
    arguments: dict[str, Any]
    form: CallForm

    @property
    def name(self) -> str:
        return f"{self.server}.{self.tool}"

    @property
    def is_repeatable(self) -> bool:
        return self.form.get("repeatable", False)

    @property
    def effect(self) -> dict[str, Any]:
        return effect_to_json(Touch(self.name, self.arguments))


class McpServer:
    """A server and the session with it (state: the session, after the first call).

    Threads and tasks may share a server. After a fork or a lost connection, the next call opens a new session.
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
            command: the command that starts the server, which communicates through its standard input and output.
            url: the URL of a running server (streamable HTTP).
            env: names of environment variables for the server, in addition to basic ones such as PATH and HOME.
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
        self._is_ended: Callable[[], bool] = lambda: False
        self._log = self._noise = ""

    def call(self, tool: str, arguments: Mapping[str, Any], **form: Unpack[CallForm]) -> Any:
        """Call a tool by its name at the server, and return its result.

        Raises ToolError if the tool failed, ToolTimeoutError or ToolConnectionError if it was not reached, and
        RecordingMissingError if a replayed recording does not contain this call.
        """
        if is_on_loop():
            raise ToolError(f"{self.name}.{tool}: on_progress cannot wait for a tool")
        call = self._make_call(tool, arguments, form)
        with self._recorded(call) as report:
            if not report.was_made:
                report.value = self._wait(submit(self._answer(call)))
        return report.value

    async def acall(self, tool: str, arguments: Mapping[str, Any], **form: Unpack[CallForm]) -> Any:
        """Do the same in a coroutine; a cancelled coroutine cancels the call."""
        call = self._make_call(tool, arguments, form)
        with self._recorded(call) as report:
            if not report.was_made:
                report.value = await asyncio.wrap_future(submit(self._answer(call)))
        return report.value

    def _make_call(self, tool: str, arguments: Mapping[str, Any], form: CallForm) -> _Call:
        return _Call(self.name, tool, _to_json(arguments, form.get("optional", ())), form)

    def close(self) -> None:
        """End the session and the server's process; the next call opens a new session."""
        session, self._session = self._session, None
        if session is not None and self._process == os.getpid():
            submit(session.close()).result()

    def list_tools(self) -> tuple[Client, list[Any]]:
        """Return the client and the server's tools as the SDK represents them; raise the errors of `call`."""

        async def ask() -> tuple[Client, list[Any]]:
            async with self._translated("tools/list"):
                return await self._get_session().list_tools(self.timeout)

        found: tuple[Client, list[Any]] = self._wait(submit(ask()))
        return found

    # ── the session ──────────────────────────────────────────────────────────────────────────────

    async def _answer(self, call: _Call) -> Any:
        async with self._translated(call.tool):
            try:
                found = await self._send(call)
            except SessionLostError as error:
                if error.was_sent and not call.is_repeatable:
                    raise
                found = await self._send(call)
            expected, is_wrapped = call.form.get("result"), call.form.get("wrapped", False)
            return read_result(call.name, found, expected, is_wrapped)

    async def _send(self, call: _Call) -> CallToolResult:
        async def report(progress: float, total: float | None, message: str | None) -> None:
            if self.on_progress is None:
                return
            try:
                self.on_progress(Progress(call.tool, progress, total, message or ""))
            except Exception as error:  # the call continues
                warnings.warn(f"on_progress of {call.name}: {format_error_line(error)}")

        return await self._get_session().call(call.tool, call.arguments, self.timeout, report)

    @asynccontextmanager
    async def _translated(self, tool: str) -> Any:
        """Raise this module's errors instead of the SDK's."""
        from mcp import MCPError
        from pydantic import ValidationError

        name = f"{self.name}.{tool}"
        try:
            yield
        except TimeoutError:
            raise ToolTimeoutError(
                f"{name} has not answered in {self.timeout:g} seconds (timeout=){self._noise}"
            ) from None
        except SessionLostError as error:
            log = f"\nthe server has written: {self._log}" if self._log else ""
            sent = "; the call may have been made" if error.was_sent else ""
            place = self.url or f"`{' '.join(self.command)}`"
            raise ToolConnectionError(
                f"{name}: no connection to {place}: {_shorten(error)}{sent}{self._noise}{log}"
            ) from None
        except ToolError:
            raise
        except (MCPError, RuntimeError, ValueError) as error:  # the SDK checks results
            text = _shorten(error) + (f" ({self._log})" if self._log and self.url else "")
            if isinstance(error, ValidationError):
                text = f"the answer is not valid: {describe_validation_error(error)}"
            raise ToolError(f"{name}: {text}") from None

    def _get_session(self) -> Session:
        """Return the session; call this on the loop."""
        if self._session is None or self._process != os.getpid():
            require_packages(f"the MCP server {self.name}", "njpy-runtime[mcp]", "mcp")
            _silence_sdk()
            opener = self._open_url if self.url else self._open_command
            self._session = open_session(opener, lambda: self._is_ended())
            self._process = os.getpid()
        return self._session

    @asynccontextmanager
    async def _open_url(self) -> Any:
        import httpx2
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        async def see(response: httpx2.Response) -> None:
            if response.request.method == "POST":
                status = f"HTTP {response.status_code} {response.reason_phrase}"
                self._log = status if response.is_error else ""
                if response.status_code == 404 and "mcp-session-id" in response.request.headers:
                    response.headers["content-type"] = ""  # else the SDK reports only the body

        headers = {name: self._expand(value) for name, value in self.headers.items()}
        seconds, hooks = httpx2.Timeout(30.0, read=None), {"response": [see]}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=seconds, event_hooks=hooks) as http,
            Client(
                streamable_http_client(self.url, http_client=http),
                message_handler=self._note_noise,
            ) as client,
        ):
            yield client

    @asynccontextmanager
    async def _open_command(self) -> Any:
        from mcp import Client, StdioServerParameters
        from mcp.client.stdio import stdio_client

        program, *words = self.command
        env = {name: os.environ[name] for name in self.env if name in os.environ}
        parameters = StdioServerParameters(
            command=program, args=words, env=env, encoding_error_handler="replace"
        )
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
            try:
                transport = self._watched(stdio_client(parameters, errlog=log))
                async with Client(transport, message_handler=self._note_noise) as client:
                    yield client
            finally:
                log.seek(0)
                self._log = log.read()[-1000:].strip()

    @asynccontextmanager
    async def _watched(self, transport: Any) -> Any:
        async with transport as (received, sent):
            # The SDK closes the message stream when the server has closed its output.
            self._is_ended = lambda: received.statistics().open_receive_streams == 0
            yield received, sent

    async def _note_noise(self, message: object) -> None:
        """Note a line from the server that is not a message, for the error of a call that it does not answer."""
        from pydantic import ValidationError

        if isinstance(message, ValidationError):
            sent = str(message.errors()[0]["input"])[:200]
            rule = "" if self.url else "; a server prints to standard error only"
            self._noise = f"\nthe server has sent a line that is not a message: {sent!r}{rule}"

    def _expand(self, value: str) -> str:
        """Return a header's value with its environment variables; raise ConfigurationError if one is not set."""

        def find(match: re.Match[str]) -> str:
            if match[1] not in os.environ:
                raise ConfigurationError(
                    f"the MCP server {self.name} needs the variable {match[1]}"
                )
            return os.environ[match[1]]

        return re.sub(r"\$\{(\w+)\}", find, value)

    # ── waiting and recording ────────────────────────────────────────────────────────────────────

    def _wait(self, future: Future[Any]) -> Any:
        """Wait for a call in short steps, so that time limits and Ctrl-C end it."""
        try:
            while not wait([future], _POLL_SECONDS).done:
                continue
            return future.result()
        except BaseException:
            future.cancel()
            raise

    @contextmanager
    def _recorded(self, call: _Call) -> Iterator[_Report]:
        """Take a call's result from the recording, or write it there."""
        recorder, is_gated = _find_recorder(), bool(call_key())
        if recorder is None or (is_gated and recorder.records):  # the gate records its calls
            yield _Report()
            return
        if is_gated:
            raise _make_missing_error(call, recorder)
        from njrt.persistence.recording_file import RecordedTouch
        from njrt.session.gate import read_call_result, write_call_result
        from njrt.session.interception import RecordedSlot
        from njrt.values.failures import failure_to_json

        key = format_call(call.effect)  # equal calls are found in order, others in any order
        asked = RecordedTouch(uuid.uuid4().hex, f"MCP server {self.name}", key, 1, call.effect)
        index, found = recorder.take_call(asked, is_alone=False, repeats=call.is_repeatable)
        slot = RecordedSlot(recorder, index, found or asked, recorder.record_call)
        report = _Report()
        if found is not None and found.was_made:
            report.was_made, report.value = True, read_call_result(found)
            yield report
            return
        if not recorder.records:
            raise _make_missing_error(call, recorder)
        if found is not None and found.state == "begun" and not call.is_repeatable:
            raise CallInDoubtError(
                f"the call {key} was interrupted by a crash, and may have been made; it is not made again. "
                f"Find out whether it was made; then remove its lines from {recorder.place.name}"
            )
        slot.write(state="begun")
        try:
            yield report
        except Exception as error:
            slot.write(state="failed", result=failure_to_json(error))
            raise
        slot.write(state="done", result=write_call_result(report.value))


def _silence_sdk() -> None:
    """Hide the tracebacks that the SDK logs from programs without log handlers; its errors are raised here."""
    if not (logger := logging.getLogger("mcp")).handlers:
        logger.addHandler(logging.NullHandler())
    logging.getLogger("client").addFilter(_is_heard)  # the SDK's sessions log there; others may too


def _is_heard(record: logging.LogRecord) -> bool:
    folders = Path(record.pathname).parts[-3:-1]
    return folders != ("mcp", "client") or logging.getLogger("client").hasHandlers()


def _shorten(error: Exception) -> str:
    """Return the text of an error, without the list of what pydantic has expected in place of an answer."""
    return re.sub(r"(?s)(Failed to parse [\w ]+:) \d+ valid.*", r"\1 no message of MCP", str(error))


@dataclass(slots=True)
class _Report:
    """A call's result (state: whether it is known)."""

    was_made: bool = False
    value: Any = None


def _find_recorder() -> Recorder | None:
    """Return the recorder that replays or records here."""
    from njrt.session.layered_model import find_recorder
    from njrt.session.settings import get_settings

    return find_recorder(get_settings(), os.environ)


def _make_missing_error(call: _Call, recorder: Recorder) -> RecordingMissingError:
    error = RecordingMissingError(
        f"the recording {recorder.place.name} has no call {format_call(call.effect)}, or not so often; record it again"
    )
    recorder.errors.append(error)
    return error


def _to_json(arguments: Mapping[str, Any], optional: Sequence[str]) -> dict[str, Any]:
    """Return arguments as JSON: models by the fields that are set, under the schema's names."""
    from pydantic import TypeAdapter

    given = {k: _prune(v) for k, v in arguments.items() if v is not None or k not in optional}
    made: dict[str, Any] = TypeAdapter(dict[str, Any]).dump_python(
        given, mode="json", by_alias=True, exclude_unset=True
    )
    return made


def _prune(value: Any) -> Any:
    """Return a value with models as dicts, under the schema's names; optional fields with None are left out."""
    from pydantic import BaseModel

    match value:
        case BaseModel():
            fields = type(value).model_fields
            return {
                (fields[name].alias or name) if name in fields else name: _prune(held)
                for name, held in value
                if name in value.model_fields_set
                and (held is not None or name not in fields or fields[name].is_required())
            }
        case dict():
            return {key: _prune(held) for key, held in value.items()}
        case list() | tuple():
            return [_prune(held) for held in value]
    return value
