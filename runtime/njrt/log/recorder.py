"""Recordings: a model's replies, stored as text beside the tests and replayed without a model.

    {"format": 1, "made_by": "njrt 0.1.0", "model": "gpt-4.1", "protocol": "tools", ...}
    {"place": "mail.njpy:12", "turn": 1, "key": "9f3c…", "shown": [{"user": […]}], "reply": {…}}

A request is found by the text of its conversation alone. Equal conversations get the recorded
replies in order, each once; different conversations may come in any order. Interceptors' decisions
follow the replies. A recording of a run that was paused or killed is `unfinished`: the next run
continues it, in every mode except `none`. Threads and tasks may share a `Recorder`; processes that
record into the same place at the same time add to it.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from njrt.data.context import free_in_child
from njrt.data.message_json import hash_conversation, reply_from_json, reply_to_json
from njrt.data.options import RecordMode
from njrt.effects import CHANGES
from njrt.errors import Paused, RecordingError, RecordingMismatchError, RecordingMissingError
from njrt.log.open_recording import OpenRecording, list_shown
from njrt.log.recording_file import (
    RecordedCall,
    RecordedDecision,
    RecordedPolicy,
    RecordedTouch,
    Recording,
    RecordingHeader,
    format_entry,
    format_touch,
    read_recording,
    write_recording,
)
from njrt.log.recording_place import open_recording_file
from njrt.messages import Message, Protocol, Reply, Request
from njrt.models.model import Ask
from njrt.values.effect_json import format_call
from njrt.version import __version__


class Recorder:
    """A layer that replays and records the replies of the model below it.

    The modes are `none`: only replay; `once`: record if the file does not exist, otherwise only
    replay; `new`: replay what is recorded and record the rest; `all`: record everything again. An
    unfinished recording is continued.

    The file is read when it is first needed. Each reply is written when it comes, so simultaneous
    blocks are in no order.
    """

    def __init__(self, path: str | Path, mode: RecordMode = "once") -> None:
        self.place = open_recording_file(path)
        self.mode: RecordMode = mode
        self.errors: list[RecordingError] = []
        """Errors raised so far; a test fails because of them even if the program catches them."""
        self._protocol: Protocol | None = None
        self._policy: RecordedPolicy = ""
        self._lock = free_in_child(threading.RLock())
        self._open: OpenRecording | None = None

    @property
    def path(self) -> Path:
        """The file's path, as it was given."""
        return Path(self.place.name)

    @property
    def protocol(self) -> Protocol | None:
        """The protocol of the recording being replayed; None if none is."""
        return self._replayed_header.protocol if self._replayed_header else None

    @property
    def policy(self) -> RecordedPolicy | None:
        """What `policy="auto"` meant in the recording being replayed; None if none is."""
        return self._replayed_header.policy if self._replayed_header else None

    def use_surroundings(self, protocol: Protocol, policy: RecordedPolicy) -> None:
        """Set what the header of a new recording names: the protocol, and what "auto" means here.

        A request alone does not show them: one that is answered with data never has tools.
        """
        self._protocol, self._policy = protocol, policy

    @property
    def _replayed_header(self) -> RecordingHeader | None:
        recording = self._get_open_recording()
        is_known = recording.replays and (recording.old.entries or not recording.records)
        return recording.old.header if is_known else None

    @property
    def records(self) -> bool:
        return self._get_open_recording().records

    @property
    def has_decisions(self) -> bool:
        return bool(self._get_open_recording().decisions.items)

    @property
    def has_changes(self) -> bool:
        """Whether decisions about the changes of contained code are recorded."""
        if self._open is None and not self.place.exists():
            return False
        calls = self._get_open_recording().calls.items
        return any(call.effect.get("function") == CHANGES for call in calls)

    def has_reply(self, messages: Sequence[Message]) -> bool:
        """Return whether a reply to a conversation is recorded and not yet replayed."""
        with self._lock:
            return self._get_open_recording().has_next_entry(hash_conversation(messages))

    def take_decision(self, asked: RecordedDecision) -> tuple[int | None, RecordedDecision | None]:
        """Return the number and the recorded form of decisions about an effect, or None."""
        with self._lock:
            decisions = self._get_open_recording().decisions
            index = decisions.take(asked)
            return index, None if index is None else decisions.items[index]

    def record_decision(self, index: int | None, decided: RecordedDecision) -> int:
        """Write the decisions about an effect, or that it is pending; return their number."""
        with self._lock:
            recording = self._get_open_recording()
            index = recording.decisions.store(index, decided)
            recording.unfinished = True
            self._close_at_exit()
            self._save(recording)
            return index

    def take_call(
        self, asked: RecordedTouch, is_alone: bool
    ) -> tuple[int | None, RecordedTouch | None]:
        """Return the number and the recorded form of a gated function's call, or None.

        Raises RecordingMismatchError if other calls are recorded in its place; if the call is not
        `is_alone`, running calls may come in another order.
        """
        with self._lock:
            recording = self._get_open_recording()
            index = recording.calls.take(asked)
            if index is not None:
                return index, recording.calls.items[index]
            is_next = recording.records and is_alone
            if expected := recording.calls.find_unused(asked.key) if is_next else None:
                raise self._make_call_error(expected, asked)
            return None, None

    def make_unmade_error(self, call: RecordedTouch) -> Paused | RecordingMismatchError:
        """Return the error for a call that is missing or incomplete in the replayed recording."""
        with self._lock:
            if not self._get_open_recording().unfinished:
                return self._make_call_error(call, call)
        paused = Paused(
            f"{call.place}: the recording {self.place.name} ends before the call "
            f"{format_call(call.effect)}, and a replay makes no calls; run the program with the "
            'mode "new" to continue'
        )
        paused.recording = self.place.name
        return paused

    def _make_call_error(
        self, expected: RecordedTouch, asked: RecordedTouch
    ) -> RecordingMismatchError:
        then = "" if expected is asked else f"\n    recorded: {format_call(expected.effect)}"
        if then and expected.effect == asked.effect:
            then = "\n    (its arguments differ in a part that is not shown)"
        return self._make_mismatch_error(
            asked.place,
            f"the code makes another call than the recording {self.place.name} has:{then}\n    now:"
            f"      {format_call(asked.effect)}\nthe program must do the same each time; calls that"
            " a recording has were made, and another recording makes them again",
        )

    def record_call(self, index: int | None, call: RecordedTouch) -> int:
        """Immediately write how far a gated function's call has come; return its number."""
        with self._lock:
            recording = self._get_open_recording()
            index = recording.calls.store(index, call)
            is_first = not recording.unfinished
            recording.unfinished = True
            if is_first or not recording.is_appended:
                self._close_at_exit()
                self._save(recording)
                return index
            self._append(recording, format_touch(call), is_synced=True)
            return index

    async def answer(self, request: Request, ask: Ask) -> Reply:
        key = hash_conversation(request.messages)
        if (recorded := self._find_reply(key, request)) is not None:
            return recorded
        reply = await ask(request)
        self._record(key, request, reply)
        return reply

    def close(self) -> None:
        """Write the replies that have not been written yet."""
        with self._lock:
            atexit.unregister(self.close)
            if self._open is None:
                return
            self._open.finish()
            if self._open.is_unsaved:
                self._save(self._open)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _get_open_recording(self) -> OpenRecording:
        with self._lock:
            if self._open is None:
                try:
                    self._open = self._open_recording(self.mode)
                except RecordingError as error:
                    self.errors.append(error)
                    raise
            return self._open

    def _open_recording(self, mode: RecordMode) -> OpenRecording:
        old = Recording(RecordingHeader(), ())
        if self.place.exists():
            old = read_recording(self.place, is_continued=mode in ("new", "all"))
        exists = bool(old.header.format)
        if not exists and mode == "none":
            raise RecordingMissingError(
                f"there is no recording {self.place.name}; "
                f"create it with NJC_RECORD=once:{self.place.name} and a model"
            )
        continues = old.header.unfinished and mode != "none"
        replays = exists and (mode != "all" or continues)
        records = mode in ("new", "all") or not exists or continues
        return OpenRecording(old, replays=replays, records=records)

    def _find_reply(self, key: str, request: Request) -> Reply | None:
        with self._lock:
            recording = self._get_open_recording()
            entry = recording.take_next_entry(key)
            if entry is None and recording.records:
                return None
            if entry is None:
                name = self.place.name
                if problem := recording.describe_lack(key):
                    problem += f"; record it with NJC_RECORD=new:{name}"
                else:
                    problem = (
                        f"{recording.describe_difference(request).rstrip()}\n"
                        f"in {name}; record the difference with NJC_RECORD=new:{name}"
                    )
                    if not recording.calls.items:  # which would be made again
                        problem += f", or everything again with NJC_RECORD=all:{name}"
                raise self._make_mismatch_error(request.place, problem)
            return replace(reply_from_json(entry.reply, entry.model), source="recording")

    def _make_mismatch_error(self, place: str, problem: str) -> RecordingMismatchError:
        error = RecordingMismatchError(f"{place}: {problem}")
        error.place = place or None
        self.errors.append(error)
        return error

    def _record(self, key: str, request: Request, reply: Reply) -> None:
        shown = tuple(list_shown(request))
        with self._lock:
            recording = self._get_open_recording()
            fields = reply_to_json(reply)
            entry = RecordedCall(request.place, request.turn, key, shown, fields, reply.model)
            if recording.header is None:
                protocol = self._protocol or ("tools" if request.tools else "text")
                today = time.strftime("%Y-%m-%d")
                made_by = f"njrt {__version__}"
                recording.header = RecordingHeader(
                    *(reply.model, protocol, today), made_by=made_by, policy=self._policy
                )
            self._close_at_exit()
            try:
                if recording.is_appended:
                    self._append(recording, format_entry(entry, recording.header), is_synced=False)
            except BaseException:
                recording.is_unsaved = True  # `close` tries again
                raise
            finally:  # only now, because a process that is forked before would write it too
                recording.recorded.append(entry)
            if not recording.is_appended:
                self._save(recording)

    def _append(self, recording: OpenRecording, line: str, is_synced: bool) -> None:
        self.place.append(line, is_synced)
        recording.note_lines([line])

    def _close_at_exit(self) -> None:
        atexit.unregister(self.close)
        atexit.register(self.close)

    def _save(self, recording: OpenRecording) -> None:
        # Even if it fails: the error is raised once, not again at exit.
        recording.is_unsaved = False
        built = recording.build()
        write_recording(self.place, built, recording.old)
        recording.note_written(built)
