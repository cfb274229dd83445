"""The file of a recording, which is replaced as a whole, in one step."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
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
from njrt.errors import ConfigurationError, RecordingError

ChangeLines = Callable[[list[str]], list[str]]


class RecordingFile:
    """A recording in a file of JSON Lines, which only its user may read.

    Every method raises `RecordingError` if the place cannot be used. `rewrite` replaces the lines
    with `change(lines)`; `lines` is empty if the recording is missing or unreadable. Lines added by
    `append` survive the kill of a process, and with `is_synced` also a power failure. A relative
    path does not follow `os.chdir`; `name` is the path as it was given.
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


def open_recording_file(place: str | Path) -> RecordingFile:
    """Return the file of a recording; raises ConfigurationError for what is no path."""
    text = str(place)
    if text.partition(":")[0] in RECORD_MODES and ":" in text:
        raise ConfigurationError(f"{text!r}: the mode of a recording is no part of its name here")
    refuse_store(text)
    return RecordingFile(Path(place))


def refuse_store(place: str) -> None:
    """Raise ConfigurationError for the place of a recording or trace in a store."""
    if re.match(r"store:|\w[\w+.-]+:.*#.", place):
        raise ConfigurationError(
            f"{place!r}: recordings and traces in stores were removed in njc 0.3; name a file"
        )


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
