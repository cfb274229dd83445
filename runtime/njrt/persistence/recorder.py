"""Recordings: what a model said once, kept as text beside the tests, and said again without a model.

    {"format": 1, "made_by": "njrt 0.1.0", "model": "gpt-4.1", "protocol": "tools", "date": "2026-03-01"}
    {"place": "mail.njpy:12", "turn": 1, "key": "9f3c…", "shown": [{"user": ["Sort <mail>.", …]}], "reply": {…}}

A request is found again by what is said in its conversation, and by nothing else: neither the system
prompt nor the tools, the model, the temperature or the line of the block. Equal conversations get the
recorded replies in their order, and then the last of them again and again, so that running the same
test twice in one process is no mismatch. The order among different conversations is free.

A recording is replaced as a whole (a temporary file, then a rename), its conversations in the order in
which they began, or in which they stood before. Threads and tasks may share a `Recorder`; processes that
record into the same file at once add to it (by a lock on its folder, on systems that have one).
"""

from __future__ import annotations

import atexit
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Literal

from njrt.errors import RecordingError, RecordingMismatchError, RecordingMissingError
from njrt.message_json import conversation_key, message_json, new_messages, reply_json, reply_of
from njrt.messages import Json, Protocol, Reply, Request
from njrt.models.model import Flow
from njrt.persistence.recording_file import (
    Entry,
    Header,
    Recording,
    read_recording,
    readable_of,
    write_recording,
)
from njrt.rendering.writer import clip

Mode = Literal["none", "once", "new", "all"]
"""`none`: only replay. `once`: record if the file does not exist, else only replay. `new`: replay what is
there and record what is not. `all`: record everything anew."""


LINE_CHARS = 300
"""Characters shown of a line that differs."""


class Recorder:
    """A layer that replays and records the replies of the model below it.

    `today` gives the date that a new recording carries. The file is read when it is first needed. What is
    recorded is written soon, and at the latest by `close` or at the end of the process.
    """

    def __init__(
        self,
        path: str | Path,
        mode: Mode = "once",
        *,
        today: Callable[[], str] = lambda: time.strftime("%Y-%m-%d"),
        note: str = "",
    ) -> None:
        self.path = Path(path)
        self.mode: Mode = mode
        self.refused: list[RecordingError] = []
        """What could not be replayed, for those who must know even where a program catches the error."""
        self._today = today
        self._note = note
        self._lock = threading.RLock()
        self._shelf: Shelf | None = None
        self._saved_at = self._save_seconds = 0.0

    @property
    def protocol(self) -> Protocol | None:
        """The protocol in which the recording was made, if there is one to replay."""
        shelf = self._opened()
        return shelf.old.header.protocol if shelf.replays else None

    def flow(self, request: Request) -> Flow:
        """Answer from the recording, or ask further down and record the reply."""
        key = conversation_key(request.messages)
        kept = self._kept(key, request)
        if kept is not None:
            return kept
        position = self._asked(request)
        reply = yield request
        self._record(position, key, request, reply)
        return reply

    def close(self) -> None:
        """Write what has been recorded and not been written yet."""
        with self._lock:
            atexit.unregister(self.close)
            if self._shelf is not None and self._shelf.is_unsaved:
                self._save(self._shelf)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _opened(self) -> Shelf:
        with self._lock:
            if self._shelf is None:
                try:
                    self._shelf = self._shelf_of(self.mode)
                except RecordingError as error:
                    self.refused.append(error)
                    raise
            return self._shelf

    def _shelf_of(self, mode: Mode) -> Shelf:
        exists = self.path.exists()
        if not exists and mode == "none":
            raise RecordingMissingError(
                f"there is no recording {self.path}; make one with NJC_RECORD=once:{self.path} and a model"
            )
        if mode == "all":
            old = readable_of(self.path)
        else:
            old = read_recording(self.path) if exists else Recording(Header(), ())
        replays = exists and mode != "all"
        return Shelf(old, replays=replays, records=mode in ("new", "all") or not exists)

    def _kept(self, key: str, request: Request) -> Reply | None:
        with self._lock:
            shelf = self._opened()
            entry = shelf.next_for(key)
            if entry is not None:
                return replace(reply_of(entry.reply, entry.model), source="recording")
            if not shelf.records:
                raise self._mismatch(shelf, request)
            return None

    def _mismatch(self, shelf: Shelf, request: Request) -> RecordingMismatchError:
        error = RecordingMismatchError(
            f"{request.place}: {shelf.difference(request).rstrip()}\n"
            f"in {self.path}; record what is new with NJC_RECORD=new:{self.path}, "
            f"or everything anew with NJC_RECORD=all:{self.path}"
        )
        error.place = request.place or None
        self.refused.append(error)
        return error

    def _asked(self, request: Request) -> int:
        """Note where the conversation stands in the recording: by when it began, or by where it stood."""
        root = conversation_key(request.messages[:1])
        with self._lock:
            positions = self._opened().positions
            return positions.setdefault(root, len(positions))

    def _record(self, position: int, key: str, request: Request, reply: Reply) -> None:
        shown = tuple(message_json(message) for message in new_messages(request.messages))
        with self._lock:
            shelf = self._opened()
            entry = Entry(request.place, request.turn, key, shown, reply_json(reply), reply.model)
            if shelf.header is None:
                protocol: Protocol = "tools" if request.tools else "text"
                shelf.header = Header(reply.model, protocol, self._today(), self._note, _made_by())
            shelf.recorded.append((position, request.turn, entry))
            shelf.is_unsaved = True
            # Each save writes the whole file: at most a tenth of the time goes into that.
            if time.monotonic() - self._saved_at >= 10 * self._save_seconds:
                self._save(shelf)
            else:
                atexit.unregister(self.close)
                atexit.register(self.close)

    def _save(self, shelf: Shelf) -> None:
        began = time.monotonic()
        shelf.is_unsaved = False  # even if it fails: the error is told once, not again at exit
        write_recording(self.path, shelf.contents(), shelf.old)
        self._saved_at = time.monotonic()
        self._save_seconds = self._saved_at - began


def _made_by() -> str:
    """The name and version of this package."""
    from importlib import metadata

    try:
        return f"njrt {metadata.version('njpy')}"
    except metadata.PackageNotFoundError:
        return "njrt"


class Shelf:
    """The entries of one recording while it is in use: what is replayed, and what has been recorded."""

    def __init__(self, old: Recording, *, replays: bool, records: bool) -> None:
        self.old = old
        self.replays = replays
        self.records = records
        self.header: Header | None = None
        self.recorded: list[tuple[int, int, Entry]] = []
        self.is_unsaved = False
        self.positions: dict[str, int] = {}
        self._by_key: defaultdict[str, list[Entry]] = defaultdict(list)
        self._used: dict[str, int] = {}
        for entry in old.entries:
            if entry.turn == 1:
                self.positions.setdefault(entry.key, len(self.positions))
            if replays:
                self._by_key[entry.key].append(entry)

    def next_for(self, key: str) -> Entry | None:
        """The next reply to an equal conversation, the last one for ever; None where there is none."""
        entries = self._by_key.get(key)
        if not entries:
            return None
        used = self._used.get(key, 0)
        self._used[key] = used + 1
        return entries[min(used, len(entries) - 1)]

    def contents(self) -> Recording:
        """The whole recording as it should be written."""
        kept = self.old.entries if self.replays else ()
        recorded = [entry for *_, entry in sorted(self.recorded, key=lambda kept: kept[:2])]
        header = self.old.header if self.replays else self.header
        return Recording(header or Header(), (*kept, *recorded))

    def difference(self, request: Request) -> str:
        """Say what the program shows now and what it showed when recorded, from the first difference on."""
        now = _lines([message_json(message) for message in new_messages(request.messages)])
        here = self._recorded_for(request)
        if not here:
            return f"turn {request.turn} of this block was not recorded"
        then, at = max(((lines, _common(lines, now)) for lines in here), key=lambda found: found[1])
        return (
            f"the program shows the model something else than when it was recorded, "
            f"first in line {at + 1} of turn {request.turn}:\n"
            f"    recorded: {_line(then, at)}\n"
            f"    now:      {_line(now, at)}\n"
        )

    def _recorded_for(self, request: Request) -> list[list[str]]:
        """What was shown at this turn of this block, or of its file, or anywhere; what is unused first."""
        entries = [entry for entry in self.old.entries if entry.turn == request.turn]
        file = request.place.rpartition(":")[0]
        for nearby in (
            [entry for entry in entries if entry.place == request.place],
            [entry for entry in entries if entry.place.rpartition(":")[0] == file],
            entries,
        ):
            if nearby:
                unused = [entry for entry in nearby if entry.key not in self._used]
                return [_lines(entry.shown) for entry in unused or nearby]
        return []


def _lines(messages: Iterable[Json]) -> list[str]:
    """All lines of text in messages written as JSON."""
    lines: list[str] = []
    for message in messages:
        lines += message.get("user", ())
        lines += (line for result in message.get("results", ()) for line in result["text"])
    return lines


def _common(then: list[str], now: list[str]) -> int:
    """How many lines two texts begin with in common."""
    same = (old == new for old, new in zip(then, now, strict=False))
    return sum(1 for _ in takewhile(bool, same))


def _line(lines: list[str], at: int) -> str:
    return clip(lines[at], LINE_CHARS) if at < len(lines) else "(nothing more)"
