"""The text of a recording: JSON Lines, a header and then one line per model call.

    read_recording(place)     Recording(header, entries), or a RecordingError with the line
    write_recording(place, recording, old)

It is replaced as a whole; lines that another process has added since `old` was read are kept.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, TypeVar

from njrt.data.decisions import InterceptorDecision, Pause
from njrt.data.message_json import drop_empty, format_json_line, hash_json, reply_from_json
from njrt.data.private_files import drop_cut_line
from njrt.data.records import record
from njrt.errors import RecordingError
from njrt.log.recording_place import RecordingFile, split_lines
from njrt.messages import Json, Protocol
from njrt.values.dataclass_json import InvalidJsonError, validate_value
from njrt.values.effect_json import (
    decision_from_json,
    effect_from_json,
    interceptor_decision_to_json,
)

FORMAT_VERSION = 3
"""The newest format; format 1 has no decisions, format 2 no calls of gated functions."""

T = TypeVar("T")

RecordedPolicy = Literal["", "auto", "guarded"]
"""What `policy="auto"` meant for code of blocks: `guarded` on a system that cannot contain it.

"" in recordings of 0.2, when code was guarded unless the program set a policy.
"""
TouchState = Literal["pending", "rejected", "begun", "done", "failed"]
"""`pending`: not decided, or paused. `begun`: running, or interrupted by a crash."""


@dataclass(frozen=True, slots=True)
class RecordingHeader:
    """The origin of a recording: the model as its server names it, the protocol, the date, a note.

    `unfinished` is set if interceptors made decisions in the run and it did not end, or was paused.
    """

    model: str = ""
    protocol: Protocol = "tools"
    date: str = ""
    note: str = ""
    made_by: str = "njrt"
    unfinished: bool = False
    format: int = 0
    policy: RecordedPolicy = ""


_CHECKED = {"arbitrary_types_allowed": True}
"""For pydantic, which takes decisions as they are."""


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """The decisions about one effect, in the order they were made; empty while it is pending.

    `key` is the digest of the conversation that led to the effect, empty for a question of
    `njrt.llm`; `number` is the number of the effect in the model's reply, from 1.
    """

    place: str
    key: str
    number: int
    effect: Json
    decisions: tuple[InterceptorDecision, ...] = ()
    __pydantic_config__: ClassVar[Any] = _CHECKED

    @property
    def identity(self) -> str:
        return hash_json([self.key, self.number, self.effect])

    @property
    def is_open(self) -> bool:
        """Whether the effect is pending: not decided, or paused."""
        return not self.decisions or isinstance(self.decisions[-1].decision, Pause)

    @property
    def lasting_decisions(self) -> tuple[InterceptorDecision, ...]:
        return () if self.is_open else self.decisions


@dataclass(frozen=True, slots=True)
class RecordedTouch(RecordedDecision):
    """One call of a gated function: the decisions, how far it came, and its result or exception.

    `id` is the call's key for the program, `key` the digest of the conversation that led to the
    code, `number` counts the run's calls, from 1. `digest` covers the full arguments, which may be
    cut in `effect`; it is empty in older recordings.
    """

    id: str = field(kw_only=True)
    state: TouchState = "pending"
    result: Json = field(default_factory=dict)
    digest: str = ""

    @property
    def identity(self) -> str:
        return hash_json([self.key, self.effect, *filter(None, [self.digest])])

    @property
    def is_open(self) -> bool:
        """Whether the call is undecided, or was interrupted."""
        return self.state in ("pending", "begun")

    @property
    def was_made(self) -> bool:
        return self.state in ("done", "failed")

    @property
    def lasting_decisions(self) -> tuple[InterceptorDecision, ...]:
        return () if self.state == "pending" else self.decisions


@record
class RecordedCall:
    """One model call: the place that asked, the new messages and the reply, as JSON.

    `key` is the digest of the whole conversation, `model` the name of the model that answered.
    """

    place: str
    turn: int
    key: str
    shown: tuple[Json, ...]
    reply: Json
    model: str = ""


@record
class Recording:
    """The contents of a recording; `lines` are the lines of its file."""

    header: RecordingHeader
    entries: tuple[RecordedCall, ...]
    decisions: tuple[RecordedDecision, ...] = ()
    lines: frozenset[str] = frozenset()
    touches: tuple[RecordedTouch, ...] = ()


def read_recording(place: RecordingFile, is_continued: bool = False) -> Recording:
    """Read and check a recording; if continued or unfinished, a cut-off last line is left out.

    An empty file is an empty recording.
    """
    text, path = place.read(), place.name
    if not (lines := split_lines(text)):
        return Recording(RecordingHeader(), ())
    header = _parse_line(lines[0], RecordingHeader, path, 1)
    if header.format > FORMAT_VERSION:
        raise RecordingError(
            f"{path}:1: the recording has format {header.format}, newer than this njrt knows "
            f"({FORMAT_VERSION}); upgrade njpy-runtime"
        )
    if not header.format:
        raise _make_line_error(path, 1, "not the header of a recording (it has no `format`)")
    entries: list[RecordedCall] = []
    decisions: list[RecordedDecision] = []
    touches: dict[str, RecordedTouch] = {}
    for number, line in enumerate(text.split("\n")[1:], start=2):
        is_last = line == lines[-1] and not text.endswith("\n")
        is_call = line.startswith(_TOUCH_START) or _TOUCH_START.startswith(line)
        may_be_cut = is_last and (is_call or is_continued or header.unfinished)
        if may_be_cut and not drop_cut_line(line.encode()):
            continue  # the machine stopped while the line was written
        if line.startswith(_DECISION_START):
            decisions.append(_parse_line(line, RecordedDecision, path, number))
        elif line.startswith(_TOUCH_START):
            touch = _parse_line(line, RecordedTouch, path, number)
            touches[touch.id] = touch  # a later line of the same call replaces an earlier one
        elif line.strip():
            entries.append(_parse_entry(line, header, path, number))
    found = frozenset(lines)
    return Recording(header, tuple(entries), tuple(decisions), found, tuple(touches.values()))


# ── the lines, as they are checked ──────────────────────────────────────────────────────────────


_DECISION_START = '{"decided": '
_TOUCH_START = '{"called": '
_LINE_KINDS: dict[type, tuple[str, str]] = {
    RecordingHeader: ("", "the header of a recording"),
    RecordedCall: ("", "a recorded model call"),
    RecordedDecision: ("decided", "a recorded decision"),
    RecordedTouch: ("called", "a recorded call"),
}


def _parse_line(line: str, expected: type[T], path: str, number: int) -> T:
    """Return a line as `expected`; a RecordingError names line and field."""
    name, kind = _LINE_KINDS[expected]
    try:
        written = validate_value(json.loads(line), dict[str, Any])
        if name:
            written = validate_value(written.get(name), dict[str, Any])
            decided = validate_value(written.get("decisions", []), list[dict[str, Any]])
            written["decisions"] = tuple(
                InterceptorDecision(str(made.get("interceptor", "")), decision_from_json(made))
                for made in decided
            )
        parsed: T = validate_value(written, expected)
        if isinstance(parsed, RecordedDecision):
            effect_from_json(parsed.effect)
    except InvalidJsonError as error:
        problem = f"{name}.{error}" if name else error
        raise _make_line_error(path, number, f"not {kind} ({problem})") from None
    except (ValueError, RecursionError):
        raise _make_line_error(path, number, "not JSON") from None
    return parsed


def _make_line_error(path: str, number: int, why: str) -> RecordingError:
    return RecordingError(
        f"{path}:{number}: this line of the recording is {why}; "
        "correct it, or restore the file: a new recording would ask the model, and make all its "
        "calls, again"
    )


def _parse_entry(text: str, header: RecordingHeader, path: str, number: int) -> RecordedCall:
    entry = _parse_line(text, RecordedCall, path, number)
    try:
        reply_from_json(entry.reply, entry.model)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        why = f"not a recorded model call (reply: {type(error).__name__}: {error})"
        raise _make_line_error(path, number, why) from None
    return replace(entry, model=entry.model or header.model)


def format_recording_lines(recording: Recording) -> list[str]:
    """Return the lines of a recording's file."""
    header = recording.header
    version = FORMAT_VERSION if recording.touches else 2 if recording.decisions else 1
    first = {"format": version, "made_by": header.made_by, "model": header.model}
    first |= {"protocol": header.protocol, "date": header.date}
    first |= drop_empty(note=header.note, unfinished=header.unfinished, policy=header.policy)
    return [
        format_json_line(first),
        *(format_entry(entry, header) for entry in recording.entries),
        *(format_json_line({"decided": _decided_to_json(each)}) for each in recording.decisions),
        *map(format_touch, recording.touches),
    ]


def format_touch(call: RecordedTouch) -> str:
    """Return the line of a gated function's call."""
    written = {"id": call.id} | _decided_to_json(call) | {"state": call.state}
    written |= drop_empty(digest=call.digest, result=call.result)
    return format_json_line({"called": written})


def _decided_to_json(recorded: RecordedDecision) -> dict[str, Any]:
    place = {"place": recorded.place, "key": recorded.key, "number": recorded.number}
    made = list(map(interceptor_decision_to_json, recorded.decisions))
    return place | {"effect": recorded.effect, "decisions": made}


def format_entry(entry: RecordedCall, header: RecordingHeader) -> str:
    """Return the line of a model call."""
    written: dict[str, Any] = {"place": entry.place, "turn": entry.turn, "key": entry.key}
    if entry.model != header.model:
        written["model"] = entry.model
    return format_json_line(written | {"shown": list(entry.shown), "reply": entry.reply})


def write_recording(place: RecordingFile, recording: Recording, old: Recording) -> None:
    """Replace the recording with this one plus the lines that others have added since `old`.

    `old.lines` also has the lines that this process has written and replaced since.
    """
    lines = format_recording_lines(recording)
    known = old.lines.union(lines)
    place.rewrite(lambda existing: lines + [line for line in existing[1:] if line not in known])
