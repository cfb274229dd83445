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
from njrt.message_json import (
    hash_conversation,
    list_new_messages,
    message_to_json,
    reply_from_json,
    reply_to_json,
)
from njrt.messages import Json, Protocol, Reply, Request
from njrt.models.model import Ask
from njrt.persistence.recording_file import (
    RecordedCall,
    Recording,
    RecordingHeader,
    read_recording,
    recover_recording,
    write_recording,
)
from njrt.rendering.writer import clip

RecordMode = Literal["none", "once", "new", "all"]
"""`none`: only replay. `once`: record if the file does not exist, else only replay. `new`: replay what is
there and record what is not. `all`: record everything anew."""


MAX_LINE_CHARS = 300
"""Characters shown of a line that differs."""


class Recorder:
    """A layer that replays and records the replies of the model below it.

    `today` gives the date that a new recording carries. The file is read when it is first needed. What is
    recorded is written soon, and at the latest by `close` or at the end of the process.
    """

    def __init__(
        self,
        path: str | Path,
        mode: RecordMode = "once",
        *,
        today: Callable[[], str] = lambda: time.strftime("%Y-%m-%d"),
        note: str = "",
    ) -> None:
        self.path = Path(path)
        self.mode: RecordMode = mode
        self.refused: list[RecordingError] = []
        """What could not be replayed, for those who must know even where a program catches the error."""
        self._today = today
        self._note = note
        self._lock = threading.RLock()
        self._shelf: OpenRecording | None = None
        self._saved_at = self._save_seconds = 0.0

    @property
    def protocol(self) -> Protocol | None:
        """The protocol in which the recording was made, if there is one to replay."""
        shelf = self._get_open_recording()
        return shelf.old.header.protocol if shelf.replays else None

    async def answer(self, request: Request, ask: Ask) -> Reply:
        """Answer from the recording, or ask further down and record the reply."""
        key = hash_conversation(request.messages)
        kept = self._kept(key, request)
        if kept is not None:
            return kept
        position = self._note_position(request)
        reply = await ask(request)
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

    def _get_open_recording(self) -> OpenRecording:
        with self._lock:
            if self._shelf is None:
                try:
                    self._shelf = self._open_recording(self.mode)
                except RecordingError as error:
                    self.refused.append(error)
                    raise
            return self._shelf

    def _open_recording(self, mode: RecordMode) -> OpenRecording:
        exists = self.path.exists()
        if not exists and mode == "none":
            raise RecordingMissingError(
                f"there is no recording {self.path}; make one with NJC_RECORD=once:{self.path} and a model"
            )
        if mode == "all":
            old = recover_recording(self.path)
        else:
            old = read_recording(self.path) if exists else Recording(RecordingHeader(), ())
        replays = exists and mode != "all"
        return OpenRecording(old, replays=replays, records=mode in ("new", "all") or not exists)

    def _kept(self, key: str, request: Request) -> Reply | None:
        with self._lock:
            shelf = self._get_open_recording()
            entry = shelf.take_next_entry(key)
            if entry is not None:
                return replace(reply_from_json(entry.reply, entry.model), source="recording")
            if not shelf.records:
                raise self._make_mismatch_error(shelf, request)
            return None

    def _make_mismatch_error(
        self, shelf: OpenRecording, request: Request
    ) -> RecordingMismatchError:
        error = RecordingMismatchError(
            f"{request.place}: {shelf.difference(request).rstrip()}\n"
            f"in {self.path}; record what is new with NJC_RECORD=new:{self.path}, "
            f"or everything anew with NJC_RECORD=all:{self.path}"
        )
        error.place = request.place or None
        self.refused.append(error)
        return error

    def _note_position(self, request: Request) -> int:
        """Note where the conversation stands in the recording: by when it began, or by where it stood."""
        root = hash_conversation(request.messages[:1])
        with self._lock:
            positions = self._get_open_recording().positions
            return positions.setdefault(root, len(positions))

    def _record(self, position: int, key: str, request: Request, reply: Reply) -> None:
        shown = tuple(message_to_json(message) for message in list_new_messages(request.messages))
        with self._lock:
            shelf = self._get_open_recording()
            entry = RecordedCall(
                request.place, request.turn, key, shown, reply_to_json(reply), reply.model
            )
            if shelf.header is None:
                protocol: Protocol = "tools" if request.tools else "text"
                shelf.header = RecordingHeader(
                    reply.model, protocol, self._today(), self._note, _format_package_version()
                )
            shelf.recorded.append((position, request.turn, entry))
            shelf.is_unsaved = True
            # Each save writes the whole file: at most a tenth of the time goes into that.
            if time.monotonic() - self._saved_at >= 10 * self._save_seconds:
                self._save(shelf)
            else:
                atexit.unregister(self.close)
                atexit.register(self.close)

    def _save(self, shelf: OpenRecording) -> None:
        began = time.monotonic()
        shelf.is_unsaved = False  # even if it fails: the error is told once, not again at exit
        write_recording(self.path, shelf.contents(), shelf.old)
        self._saved_at = time.monotonic()
        self._save_seconds = self._saved_at - began


def _format_package_version() -> str:
    """The name and version of this package."""
    from importlib import metadata

    try:
        return f"njrt {metadata.version('njpy')}"
    except metadata.PackageNotFoundError:
        return "njrt"


class OpenRecording:
    """The entries of one recording while it is in use: what is replayed, and what has been recorded."""

    def __init__(self, old: Recording, *, replays: bool, records: bool) -> None:
        self.old = old
        self.replays = replays
        self.records = records
        self.header: RecordingHeader | None = None
        self.recorded: list[tuple[int, int, RecordedCall]] = []
        self.is_unsaved = False
        self.positions: dict[str, int] = {}
        self._by_key: defaultdict[str, list[RecordedCall]] = defaultdict(list)
        self._used: dict[str, int] = {}
        for entry in old.entries:
            if entry.turn == 1:
                self.positions.setdefault(entry.key, len(self.positions))
            if replays:
                self._by_key[entry.key].append(entry)

    def take_next_entry(self, key: str) -> RecordedCall | None:
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
        return Recording(header or RecordingHeader(), (*kept, *recorded))

    def difference(self, request: Request) -> str:
        """Say what the program shows now and what it showed when recorded, from the first difference on."""
        now = _list_text_lines(
            [message_to_json(message) for message in list_new_messages(request.messages)]
        )
        here = self._find_recorded_lines(request)
        if not here:
            return f"turn {request.turn} of this block was not recorded"
        then, at = max(
            ((lines, _count_common_lines(lines, now)) for lines in here), key=lambda found: found[1]
        )
        return (
            f"the program shows the model something else than when it was recorded, "
            f"first in line {at + 1} of turn {request.turn}:\n"
            f"    recorded: {_format_line(then, at)}\n"
            f"    now:      {_format_line(now, at)}\n"
        )

    def _find_recorded_lines(self, request: Request) -> list[list[str]]:
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
                return [_list_text_lines(entry.shown) for entry in unused or nearby]
        return []


def _list_text_lines(messages: Iterable[Json]) -> list[str]:
    """All lines of text in messages written as JSON."""
    lines: list[str] = []
    for message in messages:
        lines += message.get("user", ())
        lines += (line for result in message.get("results", ()) for line in result["text"])
    return lines


def _count_common_lines(then: list[str], now: list[str]) -> int:
    """How many lines two texts begin with in common."""
    same = (old == new for old, new in zip(then, now, strict=False))
    return sum(1 for _ in takewhile(bool, same))


def _format_line(lines: list[str], at: int) -> str:
    return clip(lines[at], MAX_LINE_CHARS) if at < len(lines) else "(nothing more)"
