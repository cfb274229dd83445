"""The place of a recording: a file, or a text in a store.

    open_recording_place("recordings/mail.jsonl")               RecordingFile: recordings/mail.jsonl
    open_recording_place("store:mail", "sqlite:////srv/store")  StoredRecording: `mail` there
    open_recording_place("sqlite:////srv/store#mail")           the same

It is replaced as a whole, in one step. The files that were shown to the model are kept beside it
under their digests, in the folder `mail.files` or in the store.
"""

from __future__ import annotations

import base64
import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from njrt.data.options import RECORD_MODES
from njrt.data.private_files import (
    append_private_line,
    drop_cut_line,
    exists,
    lock_folder,
    read_file,
    replacing,
)
from njrt.errors import ConfigurationError, RecordingError, StoreError, WrongSignatureError
from njrt.stores import Store, make_store_key, update

STORED_PREFIX = "store:"
"""The prefix that marks a recording's name in a store, rather than a file's path."""

ChangeLines = Callable[[list[str]], list[str]]


class RecordingFile:
    """A recording in a file of JSON Lines, which only its user may read.

    Every method raises `RecordingError` if the place cannot be used. `rewrite` replaces the lines
    with `change(lines)`; `lines` is empty if the recording is missing or unreadable. Lines added by
    `append` survive the kill of a process, and with `is_synced` also a power failure. `keep_file`
    keeps a file beside the recording unless a file with this name exists. A relative path does not
    follow `os.chdir`; `name` is the path as it was given.
    """

    def __init__(self, path: Path) -> None:
        self.name, self.path = str(path), path.absolute()

    def exists(self) -> bool:
        return exists(self.path)

    def read(self) -> str:
        try:
            data = read_file(self.path)
            if not data.endswith(b"\n"):  # perhaps cut off within a character
                head, end, cut = data.rpartition(b"\n")
                data = head + end + cut.decode("utf-8", "ignore").encode()
            return data.decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise RecordingError(f"cannot read the recording {self.name}: {error}") from None

    def rewrite(self, change: ChangeLines) -> None:
        with _writing(self.path, f"recording {self.name}"):
            lines: list[str] = []
            with contextlib.suppress(FileNotFoundError, UnicodeDecodeError):
                lines = split_lines(drop_cut_line(read_file(self.path)).decode("utf-8-sig"))
            lines = change(lines)
            _replace_file(self.path, "\n".join(lines).encode() + b"\n")

    def append(self, line: str, is_synced: bool = True) -> None:
        with _writing(self.path, f"recording {self.name}"):
            append_private_line(self.path, line, is_synced)

    def keep_file(self, name: str, data: bytes) -> None:
        path = self.path.with_name(f"{self.path.stem}.files") / name
        if exists(path):
            return
        with _writing(path, f"file {path}"):
            _replace_file(path, data)


class StoredRecording:
    """A recording in a store, which processes and machines share."""

    def __init__(self, store: Store, recording: str, name: str) -> None:
        self._store, self._recording, self.name = store, recording, name
        self._key = make_store_key("recording", recording, "lines")

    def exists(self) -> bool:
        with self._explained("read"):
            return self._key in self._store.list_keys(self._key)

    def read(self) -> str:
        with self._explained("read"):
            return self._store.get(self._key) or ""

    def rewrite(self, change: ChangeLines) -> None:
        def change_text(text: str | None) -> str:
            return "\n".join(change(split_lines(text or ""))) + "\n"

        with self._explained("write"):
            try:
                update(self._store, self._key, change_text)
            except WrongSignatureError:  # the text was not read, and is replaced
                self._store.clear(self._key)
                update(self._store, self._key, change_text)

    def append(self, line: str, is_synced: bool = True) -> None:
        self.rewrite(lambda lines: [*lines, line])

    def keep_file(self, name: str, data: bytes) -> None:
        key = make_store_key("recording", self._recording, "files", name)
        with self._explained("write"):
            self._store.swap(key, None, base64.b64encode(data).decode())

    @contextlib.contextmanager
    def _explained(self, verb: str) -> Iterator[None]:
        try:
            yield
        except StoreError as error:
            raise RecordingError(f"cannot {verb} the recording {self.name}: {error}") from None


RecordingPlace = RecordingFile | StoredRecording


def is_stored(place: str) -> bool:
    """Return whether a text names a recording in a store rather than a file."""
    return place.startswith(STORED_PREFIX) or re.match(r"\w[\w+.-]+:.*#.", place) is not None


def open_recording_place(
    place: str | Path, store_url: str | None = None, environ: Mapping[str, str] = os.environ
) -> RecordingPlace:
    """Return the place of a recording that is given as a path, `store:NAME` or `URL#NAME`."""
    text = str(place)
    if text.partition(":")[0] in RECORD_MODES and ":" in text:
        raise ConfigurationError(f"{text!r}: the mode of a recording is no part of its name here")
    if not is_stored(text):
        return RecordingFile(Path(place))
    from njrt.log.open_store import get_store, hide_password

    if text.startswith(STORED_PREFIX):
        recording, name = text.removeprefix(STORED_PREFIX), text
        url = store_url or environ.get("NJC_STORE")
    else:
        url, _, recording = text.partition("#")
        name = f"{hide_password(url)}#{recording}"
    if not recording:
        raise RecordingError("a recording in a store has a name: store:NAME")
    return StoredRecording(get_store(url or None, environ), recording, name)


def split_lines(text: str) -> list[str]:
    """Return a recording's lines that are not blank."""
    return [line for line in text.split("\n") if line.strip()]


@contextlib.contextmanager
def _writing(path: Path, what: str) -> Iterator[None]:
    """Hold the lock of a file's folder, which is created; a failure is a `RecordingError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with lock_folder(path.parent):
            yield
    except OSError as error:
        raise RecordingError(
            f"cannot write the {what}: {error.strerror or error}; choose a folder that can be "
            "written to"
        ) from None


def _replace_file(path: Path, data: bytes) -> None:
    """Replace a file atomically by one that only its user may read."""
    with replacing(path, is_private=True) as file:
        file.write(data)
