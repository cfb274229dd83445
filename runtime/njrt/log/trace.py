"""The trace file: all blocks' events, as JSON Lines.

    {"event": "began", "run": "9f3c-1", "at": "2026-03-01T09:30:00.123456Z", "place": ..., ...}
    {"event": "asked", "run": "9f3c-1", "at": ..., "turn": 1, "shown": [{"user": [...]}]}
    {"event": "ended", ..., "outcome": "completed", "seconds": 2.31}

docs/reference/tracing.md lists all fields. Every event is one append, so threads and processes may
share the file. If it cannot be written, the log gets one warning and the program continues.
"""

from __future__ import annotations

import os
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, assert_never

from njrt.data.context import free_in_child
from njrt.data.logs import warn
from njrt.data.message_json import (
    attempts_to_json,
    drop_empty,
    format_json_line,
    list_new_messages,
    message_to_json,
    reply_to_json,
)
from njrt.data.private_files import lacks_line_end, open_private
from njrt.effects import Answer, Refusal
from njrt.events import Asked, Began, Ended, Event, Performed, Replied, StateChange, Unanswered
from njrt.values.effect_json import effect_to_json, interceptor_decision_to_json
from njrt.values.rendering.endings import format_error_line, name_ending, summarize_result

MAX_TEXT_CHARS = 20_000
"""The maximal number of characters of one text in a line; the rest is cut."""


class TraceFile:
    """A listener that appends every event to a file."""

    wants_states = True

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()
        self._lock = free_in_child(threading.RLock())
        self._handle: int | None = None
        self._has_failed = False

    def __call__(self, event: Event) -> None:
        """Append an event; after a failure, do nothing."""
        if self._has_failed:
            return
        try:
            self._write_bytes(format_event_line(event).encode() + b"\n")
        except (OSError, ValueError) as error:
            self._has_failed = True
            warn("the trace %s cannot be written (%s); continuing without it", self.path, error)

    def _write_bytes(self, line: bytes) -> None:
        with self._lock:
            if self._handle is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                is_cut = _is_cut_off(self.path)
                self._handle = open_private(self.path, os.O_WRONLY | os.O_APPEND)
                line = b"\n" + line if is_cut else line
            # One write per line, so that lines of several processes do not mix.
            while line:
                line = line[os.write(self._handle, line) :]

    def close(self) -> None:
        """Close the file; a later event reopens it."""
        with self._lock:
            if self._handle is not None:
                os.close(self._handle)
                self._handle = None


def _is_cut_off(path: Path) -> bool:
    """Return whether a file's last line has no end, and gets none from another process."""
    for _ in range(5):
        if not lacks_line_end(path):
            return False
        time.sleep(0.01)
    return True


def format_event_line(event: Event) -> str:
    """Return an event as one line of JSON."""
    at = datetime.fromtimestamp(event.at, UTC).isoformat(timespec="microseconds")
    name, parts = type(event).__name__.lower(), event_to_json(event).items()
    first = {"event": name, "run": event.run, "at": at.replace("+00:00", "Z")}
    return format_json_line(first | cut_texts(dict(parts)))


def event_to_json(event: Event) -> dict[str, Any]:
    """Return an event's fields as JSON."""
    match event:
        case Began(place=place, model=model, effects=effects, parent=parent):
            lines = event.instruction and event.instruction.split("\n")
            began = {"place": place, "model": model, "effects": effects}
            began |= drop_empty(parent=parent, instruction=lines)
            return began | state_to_json(event.state, "state")
        case Asked(request=request):
            asked: dict[str, Any] = {"turn": request.turn}
            if request.turn == 1:
                tools = [tool.name for tool in request.tools]
                asked |= {"system": request.system.split("\n"), "tools": tools}
            if request.temperature is not None:
                asked["temperature"] = request.temperature
            new = list_new_messages(request.messages, request.turn)
            return asked | {"shown": list(map(message_to_json, new))}
        case Replied(turn=turn, reply=reply, seconds=seconds):
            origin = {"model": reply.model, "source": reply.source, "reply": reply_to_json(reply)}
            return {"turn": turn, "seconds": round(seconds, 6)} | origin
        case Unanswered(turn=turn, error=error, seconds=seconds):
            failed = {"turn": turn, "seconds": round(seconds, 6), "error": format_error_line(error)}
            return failed | drop_empty(attempts=attempts_to_json(getattr(error, "attempts", ())))
        case Performed(turn=turn, effect=effect, result=result, seconds=seconds):
            kind = "answer" if isinstance(result, Answer) else "outcome"
            kind = "refusal" if isinstance(result, Refusal) else kind
            fields = {"turn": turn, "seconds": round(seconds, 6), "effect": effect_to_json(effect)}
            fields |= {"kind": kind, "result": summarize_result(result, event.redact)}
            decisions = list(map(interceptor_decision_to_json, event.decisions))
            fields |= drop_empty(decisions=decisions, touches=event.touches)
            return fields | state_to_json(event.state, "changes")
        case Ended(outcome=outcome, seconds=seconds):
            name, message = name_ending(outcome, event.redact)
            ended = {"outcome": name} | drop_empty(error=message) | {"seconds": round(seconds, 6)}
            ended |= state_to_json(event.state, "changes")
            return ended | drop_empty(warnings=list(event.warnings))
        case _:
            assert_never(event)


def state_to_json(state: StateChange | None, name: str) -> dict[str, Any]:
    """Return the state's changes under a name, with a digest of all variables; empty if unknown."""
    if state is None:
        return {}
    changes = {name: dict(state.changes), "digest": state.digest}
    return changes | drop_empty(printed=state.printed, parts=dict(state.parts))


def cut_texts(value: Any) -> Any:
    """Return a JSON value with its texts cut."""
    match value:
        case str() if len(value) > MAX_TEXT_CHARS:
            return f"{value[:MAX_TEXT_CHARS]}... (+{len(value) - MAX_TEXT_CHARS})"
        case dict():
            return {key: cut_texts(item) for key, item in value.items()}
        case list() | tuple():
            return list(map(cut_texts, value))
    return value
