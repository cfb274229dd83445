"""The trace file: everything that happens in blocks, as JSON Lines.

    {"event": "began", "run": "9f3c-1", "at": "2026-03-01T09:30:00.123456Z", "place": "mail.njpy:12", ...}
    {"event": "asked", "run": "9f3c-1", "at": ..., "turn": 1, "shown": [{"user": ["Sort <mail>.", ...]}]}
    {"event": "replied", ..., "reply": {"calls": [...], "usage": {...}}}
    {"event": "performed", ..., "effect": {"kind": "Run", "code": "..."}, "result": "..."}
    {"event": "ended", ..., "outcome": "completed", "seconds": 2.31}

Each event is one append to the file, so that threads and processes may share it. A file that cannot be
written to costs the program one warning in the log and nothing else.
"""

from __future__ import annotations

import os
import threading
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, assert_never

from njrt.effects import Answer, Refusal
from njrt.events import Asked, Began, Ended, Event, Performed, Replied, Unanswered
from njrt.message_json import format_json_line, list_new_messages, message_to_json, reply_to_json
from njrt.observability.accounts import format_error_line, name_ending, summarize_result
from njrt.observability.logs import warn

MAX_PART_CHARS = 20_000
"""Characters of text that one part of a line may hold; what is beyond is cut."""


class TraceFile:
    """A listener that appends every event to a file."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._handle: int | None = None
        self._has_failed = False

    def __call__(self, event: Event) -> None:
        """Append one event, or give up for good."""
        self.add(format_event_line(event))

    def add(self, line: str) -> None:
        """Append one line, or give up for good."""
        if self._has_failed:
            return
        try:
            self._write_bytes(line.encode() + b"\n")
        except (OSError, ValueError) as error:
            self._has_failed = True
            warn("the trace %s cannot be written (%s); going on without it", self.path, error)

    def _write_bytes(self, line: bytes) -> None:
        with self._lock:
            if self._handle is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
                self._handle = os.open(self.path, flags, 0o666)
            # One write for the whole line: the system keeps those of several processes apart.
            while line:
                line = line[os.write(self._handle, line) :]

    def close(self) -> None:
        """Close the file; a later event opens it anew."""
        with self._lock:
            if self._handle is not None:
                os.close(self._handle)
                self._handle = None


def format_event_line(event: Event) -> str:
    """Write an event as one line of JSON of bounded length."""
    at = datetime.fromtimestamp(event.at, UTC).isoformat(timespec="microseconds")
    first = {
        "event": type(event).__name__.lower(),
        "run": event.run,
        "at": at.replace("+00:00", "Z"),
    }
    parts = {
        name: TextBudget(MAX_PART_CHARS).cut(part) for name, part in event_to_json(event).items()
    }
    return format_json_line(first | parts)


def event_to_json(event: Event) -> dict[str, Any]:
    """What is particular to an event, as JSON."""
    match event:
        case Began(place=place, model=model, effects=effects, parent=parent, tried=tried):
            began = {"place": place, "model": model, "effects": effects}
            return (
                began | ({"parent": parent} if parent else {}) | ({"tried": tried} if tried else {})
            )
        case Asked(request=request):
            asked: dict[str, Any] = {"turn": request.turn}
            if request.turn == 1:
                asked |= {
                    "system": request.system.split("\n"),
                    "tools": [tool.name for tool in request.tools],
                }
            if request.temperature is not None:
                asked["temperature"] = request.temperature
            return asked | {
                "shown": [
                    message_to_json(message) for message in list_new_messages(request.messages)
                ]
            }
        case Replied(turn=turn, reply=reply, seconds=seconds):
            told = {
                "turn": turn,
                "seconds": round(seconds, 6),
                "model": reply.model,
                "source": reply.source,
            }
            return told | {"reply": reply_to_json(reply)}
        case Unanswered(turn=turn, error=error, seconds=seconds):
            return {"turn": turn, "seconds": round(seconds, 6), "error": format_error_line(error)}
        case Performed(turn=turn, effect=effect, result=result, seconds=seconds):
            kind = "answer" if isinstance(result, Answer) else "outcome"
            kind = "refusal" if isinstance(result, Refusal) else kind
            told = {"turn": turn, "seconds": round(seconds, 6), "effect": effect_to_json(effect)}
            return told | {"kind": kind, "result": summarize_result(result)}
        case Ended(outcome=outcome, seconds=seconds):
            name, said = name_ending(outcome)
            return (
                {"outcome": name}
                | ({"error": said} if said else {})
                | {"seconds": round(seconds, 6)}
            )
        case _:
            assert_never(event)


def effect_to_json(effect: Any) -> dict[str, Any]:
    """An effect by its kind and its parts, which are JSON as the model sent them."""
    assert is_dataclass(effect)
    return {"kind": type(effect).__name__} | {
        part.name: getattr(effect, part.name) for part in fields(effect)
    }


class TextBudget:
    """Cuts a JSON value down to a number of characters of text (state: how many are left)."""

    def __init__(self, left: int) -> None:
        self.left = left

    def cut(self, value: Any) -> Any:
        """The value, with the texts and items left out that go beyond the bound."""
        if isinstance(value, str):
            kept = (
                value
                if len(value) <= self.left
                else value[: self.left] + f"... (+{len(value) - self.left})"
            )
            self.left = max(0, self.left - len(value))
            return kept
        if isinstance(value, dict):
            return {key: self.cut(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            kept_items: list[Any] = []
            for item in value:
                if self.left <= 0:
                    kept_items.append(f"... (+{len(value) - len(kept_items)} more)")
                    break
                kept_items.append(self.cut(item))
            return kept_items
        self.left -= 4
        return value
