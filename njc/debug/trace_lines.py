"""Read trace files: one frozen dataclass for each kind of line.

    for line in read_trace(Path("trace.jsonl")): ...    BeganLine("9f3c-1", place="mail.njpy:12")

An unreadable line becomes an `UnreadableLine`; unknown fields and kinds of lines, from newer
versions, are ignored.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, TypeAdapter, ValidationError

from njrt.data.records import field, record
from njrt.values.dataclass_json import describe_validation_error

StateTexts = dict[str, str | None]
"""A line of text for each variable; None if the variable is no longer bound."""


@record
class _RunLine:
    run: str
    at: Annotated[datetime, AfterValidator(lambda at: at if at.tzinfo else at.replace(tzinfo=UTC))]
    """The time, in UTC if the line has no time zone."""


@record
class BeganLine(_RunLine):
    """The start of a block. `state` contains all its variables; None in traces without states."""

    event: Literal["began"]
    place: str
    model: str = ""
    effects: str = ""
    parent: str | None = None
    instruction: list[str] = field(default_factory=list)
    state: StateTexts | None = None
    digest: str = ""
    file: str = ""
    """The path of the block's source in a controlled run; empty in traces."""


@record
class AskedLine(_RunLine):
    """The model was asked. `shown` has the turn's new messages, and in turn 1 the system prompt."""

    event: Literal["asked"]
    turn: int
    shown: list[dict[str, Any] | str] = field(default_factory=list)
    system: list[str] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    temperature: float | None = None


@record
class ModelCallCost:
    """The tokens and price of a step's model call; `usd` is None if unknown, 0 from the cache."""

    input: int = 0
    output: int = 0
    cached: int = 0
    usd: float | None = None


@record
class RepliedLine(_RunLine):
    """The model answered; `source` is "model", "cache" or "recording"."""

    event: Literal["replied"]
    turn: int
    seconds: float
    reply: dict[str, Any]
    model: str = ""
    source: str = ""

    @property
    def cost(self) -> ModelCallCost:
        """The tokens and price; fields that are not numbers count as 0."""
        usage = self.reply.get("usage")
        usage = usage if isinstance(usage, Mapping) else {}
        given = (usage.get(name) for name in ("input", "output", "cached"))
        input, output, cached = (
            it if isinstance(it, int) and 0 <= it < 1 << 32 else 0 for it in given
        )
        usd = usage.get("usd")
        price = float(usd) if isinstance(usd, int | float) and 0 <= usd < 1e9 else None
        return ModelCallCost(input, output, cached, 0.0 if self.source == "cache" else price)


@record
class UnansweredLine(_RunLine):
    """This turn's request got no answer."""

    event: Literal["unanswered"]
    turn: int
    seconds: float
    error: str


@record
class PerformedLine(_RunLine):
    """An effect was performed or refused; `decisions` are in interceptor order.

    `changes` are the variables, and `parts` what is in their objects, since the run's last line.
    """

    event: Literal["performed"]
    turn: int
    seconds: float
    effect: dict[str, Any]
    kind: Literal["answer", "refusal", "outcome"]
    result: str
    changes: StateTexts | None = None
    digest: str = ""
    printed: str = ""
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)
    decisions: list[dict[str, Any]] = field(default_factory=list)
    touches: int = 0


@record
class EndedLine(_RunLine):
    """A block's run ended."""

    event: Literal["ended"]
    outcome: str
    seconds: float
    error: str = ""
    changes: StateTexts | None = None
    digest: str = ""
    printed: str = ""
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @property
    def note(self) -> str:
        return self.error or "; ".join(f"warning: {warning}" for warning in self.warnings)


@record
class UnreadableLine:
    """A line that does not belong in a trace; `number` counts from 1."""

    number: int
    problem: str


EventLine = BeganLine | AskedLine | RepliedLine | UnansweredLine | PerformedLine | EndedLine
TraceLine = EventLine | UnreadableLine

MAX_LINE_BYTES = 16 << 20
"""Longer lines are not read; the lines that njrt writes are shorter than a megabyte."""


def read_trace(path: Path) -> Iterator[TraceLine]:
    """Yield a trace file's lines one by one; a line that is cut off becomes an `UnreadableLine`."""
    with open(path, "rb") as file:
        yield from parse_trace(file)


def read_written_trace(path: Path) -> list[TraceLine]:
    """Return the lines of a trace that a program may have written; empty if it wrote none."""
    return list(read_trace(path)) if path.exists() else []


def parse_trace(lines: Iterable[bytes]) -> Iterator[TraceLine]:
    """Yield a trace's lines, one by one."""
    for number, line in enumerate(lines, 1):
        if (parsed := parse_trace_line(line, number)) is not None:
            yield parsed


def parse_trace_line(line: bytes, number: int) -> TraceLine | None:
    """Read the line with this number; None for an empty line or an unknown kind."""
    line = line.removeprefix(BOM_UTF8)
    if not line.strip():
        return None
    if len(line) > MAX_LINE_BYTES:
        return UnreadableLine(number, f"longer than {MAX_LINE_BYTES:,} bytes")
    try:
        return _validate(line)
    except ValidationError as error:
        kind = error.errors(include_url=False, include_context=False)[0]["type"]
        if kind == "union_tag_invalid":
            return None
        if kind == "union_tag_not_found" or not line.lstrip().startswith(b"{"):
            is_recording = b'"format"' in line and b'"protocol"' in line
            what = "this is a recording" if is_recording else "a line without `event`"
            return UnreadableLine(number, f"{what}; NJC_TRACE=FILE writes traces")
        if not line.endswith(b"\n"):
            return UnreadableLine(number, "cut off: the line has no end")
        return UnreadableLine(number, describe_validation_error(error))


def _validate(line: bytes) -> EventLine:
    try:
        return _LINE.validate_json(line, strict=True)
    except ValidationError:
        if b"\\ud" not in line.lower():
            raise
        # pydantic rejects lone surrogates, which a program's texts may contain.
        with suppress(ValueError):
            line = json.dumps(json.loads(line), ensure_ascii=False).encode("utf-8", "replace")
        return _LINE.validate_json(line, strict=True)


_LINE: TypeAdapter[EventLine] = TypeAdapter(Annotated[EventLine, Discriminator("event")])
