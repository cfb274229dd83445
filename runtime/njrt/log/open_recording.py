"""A recording in use: the next reply for each conversation, and the new entries.

recording = OpenRecording(old, replays=True, records=False)
recording.take_next_entry("9f3c…")           the next reply to this conversation
recording.describe_difference(request)       the program differs, first in line 2 of turn 1
recording.build()                            the `Recording` to write
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from itertools import takewhile
from typing import Generic, TypeVar

from njrt.data.message_json import format_attached, list_new_messages, message_to_json
from njrt.log.recording_file import (
    RecordedCall,
    RecordedDecision,
    RecordedTouch,
    Recording,
    RecordingHeader,
    format_recording_lines,
)
from njrt.messages import Json, Request
from njrt.values.rendering.writer import clip

MAX_LINE_CHARS = 300
"""How many characters of a differing line are shown."""


class OpenRecording:
    """A recording in use: the entries that are replayed, and those recorded so far."""

    def __init__(self, old: Recording, *, replays: bool, records: bool) -> None:
        self.old = old
        self.replays = replays
        self.records = records
        self.header = old.header if old.entries and replays else None
        self.recorded: list[RecordedCall] = []
        self.is_unsaved = False
        self.decisions = ReplayBook(old.decisions if replays else ())
        self.calls = ReplayBook(old.touches if replays else ())
        self.is_appended = False
        """True if the file has been written, so that calls can be added at its end."""
        self.unfinished = old.header.unfinished and replays
        self._by_key: defaultdict[str, list[RecordedCall]] = defaultdict(list)
        self._used: dict[str, int] = {}
        for entry in old.entries if replays else ():
            self._by_key[entry.key].append(entry)

    def take_next_entry(self, key: str) -> RecordedCall | None:
        """Return the next reply to an equal conversation, or None."""
        if not self.has_next_entry(key):
            return None
        used = self._used.get(key, 0)
        self._used[key] = used + 1
        return self._by_key[key][used]

    def has_next_entry(self, key: str) -> bool:
        """Return whether `take_next_entry` would return a reply."""
        return self._used.get(key, 0) < len(self._by_key.get(key, ()))

    def describe_lack(self, key: str) -> str:
        """Describe why recorded replies to a conversation do not do; "" if there are none."""
        if not (recorded := self._by_key.get(key)):
            return ""
        return f"the recording has no reply number {len(recorded) + 1} to this request"

    def build(self) -> Recording:
        """Return the recording to write: old entries that are replayed, and new entries."""
        replayed = self.old.entries if self.replays else ()
        return Recording(
            replace(self.header or RecordingHeader(), unfinished=self.unfinished),
            (*replayed, *self.recorded),
            tuple(self.decisions.items),
            touches=tuple(self.calls.items),
        )

    def finish(self) -> None:
        """End the run: the recording is complete unless the run was paused."""
        if not (self.records and self.unfinished):
            return
        self.decisions.drop_unreached()
        self.unfinished = self.decisions.has_open or self.calls.has_open
        self.is_unsaved = True

    def note_written(self, written: Recording) -> None:
        """Note the lines that this process, and no other, has written and may change."""
        self.note_lines(format_recording_lines(replace(written, entries=())))
        self.is_appended = True

    def note_lines(self, lines: Iterable[str]) -> None:
        """Note lines that this process, and no other, has added."""
        self.old = replace(self.old, lines=self.old.lines.union(lines))

    def describe_difference(self, request: Request) -> str:
        """Describe how the program's texts differ from those recorded at this turn."""
        count = len(self.old.entries)
        if count and all(entry.key in self._used for entry in self.old.entries):
            return (
                f"turn {request.turn} of this block is not in the recording: the run that made it "
                f"was killed, or asked no more ({count} {'reply' if count == 1 else 'replies'}, "
                "all replayed); the mode `new` continues it"
            )
        now = _list_text_lines(list_shown(request))
        turn = [entry for entry in self.old.entries if entry.turn == request.turn]
        found = [entry for entry in turn if entry.place == request.place] or turn
        found = [entry for entry in found if entry.key not in self._used] or found
        if not found:
            return f"turn {request.turn} of this block is not in the recording"
        then = _list_text_lines(found[0].shown)
        pairs = zip(then, now, strict=False)
        at = sum(1 for _ in takewhile(lambda it: it[0] == it[1], pairs))
        return (
            f"the program differs from the recording, "
            f"first in line {at + 1} of turn {request.turn}:\n"
            f"    recorded: {_format_line(then, at)}\n"
            f"    now:      {_format_line(now, at)}\n"
        )


def list_shown(request: Request) -> list[Json]:
    """Return a request's new messages as they are recorded."""
    new = list_new_messages(request.messages, request.turn)
    return [message_to_json(message) for message in new]


def _list_text_lines(messages: Iterable[Json]) -> list[str]:
    lines: list[str] = []
    for message in messages:
        lines += message.get("user", ())
        lines += map(format_attached, message.get("attached", ()))
        for result in message.get("results", ()):
            lines += result.get("text", ())
    return lines


def _format_line(lines: list[str], at: int) -> str:
    return clip(lines[at], MAX_LINE_CHARS) if at < len(lines) else "(nothing more)"


# ── the decisions, or the calls of gated functions, in an open recording ─────────────────────────


T = TypeVar("T", RecordedDecision, RecordedTouch)


class ReplayBook(Generic[T]):
    """Recorded items in order (state: which of them have been used)."""

    def __init__(self, old: Iterable[T]) -> None:
        self.items: list[T] = list(old)
        self._slots: defaultdict[str, list[int]] = defaultdict(list)
        self._used: dict[str, int] = {}
        self._unused: defaultdict[str, set[int]] = defaultdict(set)
        """Old items that have not been taken, by conversation."""
        for index, item in enumerate(self.items):
            self._slots[item.identity].append(index)
            self._unused[item.key].add(index)

    @property
    def has_open(self) -> bool:
        """Whether the end of an item is missing."""
        return any(item.is_open for item in self.items)

    def take(self, asked: T) -> int | None:
        """Return the number of the next recorded item that equals this one, and mark it used."""
        identity = asked.identity
        if isinstance(asked, RecordedTouch) and asked.digest:
            older = replace(asked, digest="").identity  # as an older version of njrt wrote it
            has_older = self._used.get(older, 0) < len(self._slots[older])
            identity = older if has_older else identity
        slots, used = self._slots[identity], self._used.get(identity, 0)
        self._used[identity] = used + 1
        if used >= len(slots):
            return None
        self._unused[asked.key].discard(slots[used])
        return slots[used]

    def store(self, index: int | None, item: T) -> int:
        """Replace an item, or add one; return its number."""
        if index is not None:
            self.items[index] = item
            return index
        self.items.append(item)
        index = len(self.items) - 1
        self._slots[item.identity].append(index)
        return index

    def find_unused(self, key: str) -> T | None:
        """Return the first item after a conversation that the program has not asked for."""
        unused = self._unused[key]
        return self.items[min(unused)] if unused else None

    def drop_unreached(self) -> None:
        """At the end of a run, remove open items that the run did not reach."""
        self.items = [
            item
            for index, item in enumerate(self.items)
            if not item.is_open or index not in self._unused[item.key]
        ]
