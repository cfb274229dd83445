"""Debug Adapter Protocol messages: reading them, request arguments, breakpoints.

    LaunchArguments.model_validate({"program": "mail.njpy", "stopOnEntry": True})
    BreakpointSets().set_functions(...)      {"breakpoints": [{"name": "effect Run"}]} sets
                                             Breakpoint("effect", "Run")

Names and meanings come from the protocol, except the arguments of `launch`. Unknown fields are
ignored.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, Literal
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, model_validator
from pydantic.alias_generators import to_camel

from njc.debug.timeline.breakpoints import (
    Breakpoint,
    check_condition,
    find_block_at,
    parse_breakpoint,
)
from njc.debug.timeline.channel import RunControlError
from njc.debug.timeline.happenings import RunSettings, choose_recording

ExceptionFilter = Literal["refusal", "limit", "type", "divergence"]


class RequestError(Exception):
    """A request that cannot be served; the message is shown to the user."""


class Arguments(BaseModel):
    """Arguments of a request, with names in camel case."""

    model_config = ConfigDict(alias_generator=to_camel, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, fields: Any) -> Any:
        """Drop fields with null, which some clients send for missing ones."""
        if not isinstance(fields, dict):
            return fields
        return {name: value for name, value in fields.items() if value is not None}


class InitializeArguments(Arguments):
    """The client's capabilities, and whether it numbers lines and columns from 1."""

    lines_start_at1: bool = True
    columns_start_at1: bool = True
    supports_invalidated_event: bool = False


class LaunchArguments(Arguments):
    """What to run: a natural program, its arguments and environment, and the source of replies."""

    model_config = ConfigDict(extra="allow")

    program: Path
    args: tuple[str, ...] = ()
    cwd: Path | None = None
    env: dict[str, str | None] = Field(default_factory=dict)
    """Variables to add to the environment; null values are ignored."""
    model: str | None = None
    recording: Path | None = None
    """The recording to replay and extend."""
    replay_only: bool = False
    """Whether to only replay the recording, without asking a model."""
    options: dict[str, Any] = Field(default_factory=dict)
    no_debug: bool = False
    """Whether to just run the program, without breakpoints."""
    stop_on_entry: bool = False
    stop_at_end: bool = False
    """Whether to stop when the program has ended, so that the user can step back from there."""

    @property
    def stops_at_first(self) -> bool:
        return self.stop_on_entry and not self.no_debug


class SourceArgument(Arguments):
    """A file."""

    path: str | None = None


class WantedBreakpoint(Arguments):
    """A breakpoint at a line, in words such as `effect Run`, or on changes to a variable."""

    line: int = 0
    name: str = ""
    data_id: str = ""
    condition: str = ""


class SetBreakpointsArguments(Arguments):
    """All breakpoints of a file or of a kind; for failures, the enabled filters."""

    source: SourceArgument = SourceArgument()
    breakpoints: tuple[WantedBreakpoint, ...] = ()
    filters: tuple[ExceptionFilter, ...] = ()


class DataBreakpointInfoArguments(Arguments):
    """A variable on which a breakpoint is to be set."""

    name: str
    variables_reference: int = 0


class StackTraceArguments(Arguments):
    """Which stack frames to return; 0 levels means all."""

    start_frame: NonNegativeInt = 0
    levels: NonNegativeInt = 0


class FrameArguments(Arguments):
    """A stack frame."""

    frame_id: int


class VariablesArguments(Arguments):
    """A scope, or a variable with parts; 0 items means all."""

    variables_reference: int
    start: NonNegativeInt = 0
    count: NonNegativeInt = 0


class SetVariableArguments(Arguments):
    """A variable in a scope, and the expression to bind it to."""

    variables_reference: int
    name: str
    value: str


class EvaluateArguments(Arguments):
    """An expression or, in the console, a command."""

    expression: str
    context: str = ""
    frame_id: int = 0


class SourceArguments(Arguments):
    """A text held by the adapter."""

    source_reference: int


def make_settings(launch: LaunchArguments, program: Path, folder: Path) -> RunSettings:
    """Make the run's settings; NJC_RECORD names the recording if the request does not."""
    environment = {name: value for name, value in launch.env.items() if value is not None}
    recording, is_replayed = launch.recording, launch.replay_only
    if recording is None:
        wanted = {**os.environ, **environment}.get("NJC_RECORD", "")
        recording, is_replayed = choose_recording(wanted, program)
        if launch.replay_only and recording is None:
            raise RequestError("`replayOnly` needs `recording`")
        is_replayed = is_replayed or launch.replay_only
    return RunSettings(
        program.absolute(),
        launch.args,
        launch.model,
        None if recording is None else folder / recording,
        is_replayed,
        launch.options,
        environment,
        folder.absolute(),
    )


class BreakpointSets:
    """The breakpoints so far (state)."""

    def __init__(self) -> None:
        self._breakpoints: dict[str, tuple[Breakpoint, ...]] = {}
        self.filters: tuple[ExceptionFilter, ...] = ("divergence",)
        self.folders: tuple[Path, ...] | None = None
        """Folders of the launched program, which the files of breakpoints are relative to."""

    def set_in_file(self, arguments: SetBreakpointsArguments) -> Any:
        if (path := arguments.source.path) is None:
            raise RequestError("breakpoints are set in files")
        file = Path(unquote(urlsplit(path).path) if path.startswith("file:") else path)

        def read(wanted: WantedBreakpoint) -> Breakpoint:
            block = find_block_at(file, wanted.line)
            if block is None:
                raise ValueError(
                    "no natural block has this line; use a Python debugger for breakpoints in"
                    " Python"
                )
            return Breakpoint("block", f"{file}:{wanted.line}", place=f"{file}:{block.first}")

        answers = self._set(f"file {file}", arguments.breakpoints, read)
        for wanted, answer in zip(arguments.breakpoints, answers["breakpoints"], strict=True):
            answer["line"] = wanted.line
            block = find_block_at(file, wanted.line)
            if block is not None and answer["verified"]:
                answer |= {"line": block.first, "endLine": block.last}
        return answers

    def set_functions(self, arguments: SetBreakpointsArguments) -> Any:
        """Set breakpoints in words, such as `effect Run`."""
        return self._set(
            "functions", arguments.breakpoints, lambda each: parse_breakpoint(each.name)
        )

    def set_exceptions(self, arguments: SetBreakpointsArguments) -> Any:
        self.filters = arguments.filters
        self._breakpoints["exceptions"] = tuple(
            Breakpoint(name)
            for name in arguments.filters
            if name != "divergence"  # the controller always stops there
        )
        return {"breakpoints": [{"verified": True} for _ in arguments.filters]}

    def set_data(self, arguments: SetBreakpointsArguments) -> Any:
        return self._set(
            "data", arguments.breakpoints, lambda each: parse_breakpoint(f"variable {each.data_id}")
        )

    def _set(self, key: str, wanted: Sequence[Any], read: Callable[[Any], Breakpoint]) -> Any:
        """Replace a key's breakpoints; `read` raises ValueError for one that cannot be set."""
        answers: list[dict[str, Any]] = []
        found: list[Breakpoint] = []
        for each in wanted:
            try:
                breakpoint = self._locate(read(each))
                check_condition(each.condition)
            except (ValueError, RunControlError) as error:
                answers.append({"verified": False, "message": str(error)})
                continue
            found.append(replace(breakpoint, condition=each.condition or breakpoint.condition))
            note = breakpoint.note if self.folders else ""
            answers.append({"verified": not note} | ({"message": note} if note else {}))
        self._breakpoints[key] = tuple(found)
        return {"breakpoints": answers}

    def collect(self) -> tuple[Breakpoint, ...]:
        """Return the breakpoints, except those set before the launch that have no block."""
        found = []
        for breakpoint in itertools.chain.from_iterable(self._breakpoints.values()):
            with suppress(RunControlError):
                found.append(self._locate(breakpoint))
        return tuple(found)

    def _locate(self, breakpoint: Breakpoint) -> Breakpoint:
        return breakpoint.locate(self.folders) if self.folders else breakpoint


_CAPABILITIES = (
    *("ConfigurationDoneRequest", "StepBack", "SetVariable", "ConditionalBreakpoints"),
    *("FunctionBreakpoints", "DataBreakpoints", "RestartFrame", "RestartRequest"),
    *("TerminateRequest", "EvaluateForHovers"),
)
_EXCEPTION_FILTERS: Mapping[ExceptionFilter, tuple[str, str]] = {
    "refusal": ("Refused effects", "After an effect of the model that was refused"),
    "type": ("Values of a wrong type", "After an output that does not have its type"),
    "limit": ("Limits", "At the exit of a block that exceeded a limit"),
    "divergence": ("Divergence", "At a repeated step that differs"),
}
CAPABILITIES: Mapping[str, Any] = {
    **{f"supports{name}": True for name in _CAPABILITIES},
    "exceptionBreakpointFilters": [
        {"filter": name, "label": label, "description": text, "default": name == "divergence"}
        for name, (label, text) in _EXCEPTION_FILTERS.items()
    ],
}

MAX_HEADER_BYTES = 1024

_CONTENT_LENGTH = re.compile(rb"\s*content-length\s*:\s*(\d{1,9})\s*", re.IGNORECASE)


class MessageError(ValueError):
    """A message that cannot be read; the following messages still can."""


class MessageReader:
    """Reads messages one by one (state: the position in the stream)."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def read(self) -> dict[str, Any] | None:
        """Return the next message; None at the end of the stream.

        Lines that are not headers are skipped. Raises MessageError if it is not a JSON object.
        """
        length = self._read_header()
        if length is None:
            return None
        data = self._stream.read(length)
        if len(data) < length:
            return None
        try:
            message = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise MessageError(f"a message is not JSON: {error}") from None
        if not isinstance(message, dict):
            raise MessageError("a message is not a JSON object")
        return message

    def _read_header(self) -> int | None:
        length: int | None = None
        while line := self._stream.readline(MAX_HEADER_BYTES):
            if found := _CONTENT_LENGTH.fullmatch(line):
                length = int(found[1])
            elif not line.strip() and length is not None:
                return length
        return None


def write_message(stream: BinaryIO, message: Mapping[str, Any]) -> None:
    """Write a message in ASCII; other characters are escaped."""
    data = json.dumps(message).encode("ascii")
    stream.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
    stream.flush()
