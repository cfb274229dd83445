"""The file of a recording: JSON Lines, a header and then one line per model call.

    read_recording(path)     Recording(header, entries), or a RecordingError that names the bad line
    write_recording(path, recording, old)

A file is always replaced as a whole. What another process has added since `old` was read is kept.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from njrt.errors import RecordingError, RecordingMissingError
from njrt.message_json import format_json_line, reply_from_json
from njrt.messages import Json, Protocol
from njrt.persistence.folder_lock import lock_folder
from njrt.private_files import open_private

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class RecordingHeader:
    """The origin of a recording: the model as its server names it, the protocol, the date, a note."""

    model: str = ""
    protocol: Protocol = "tools"
    date: str = ""
    note: str = ""
    made_by: str = "njrt"


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One model call: the place that asked, the new messages of the conversation, and the reply, as JSON.

    `key` is the digest of the whole conversation, `model` the name of the model that answered.
    """

    place: str
    turn: int
    key: str
    shown: tuple[Json, ...]
    reply: Json
    model: str


@dataclass(frozen=True, slots=True)
class Recording:
    """The contents of a recording; `lines` are those of the file that it was read from."""

    header: RecordingHeader
    entries: tuple[RecordedCall, ...]
    lines: frozenset[str] = frozenset()


def read_recording(path: Path) -> Recording:
    """Read and check a recording."""
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise RecordingError(f"cannot read the recording {path}: {error}") from None
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        raise RecordingMissingError(
            f"the recording {path} is empty; record it again with NJC_RECORD=all:{path} and a model"
        )
    header = _parse_header(_parse_json_object(lines[0], path, 1), path)
    entries = tuple(
        _parse_entry(_parse_json_object(line, path, number), header, path, number)
        for number, line in enumerate(text.split("\n")[1:], start=2)
        if line.strip()
    )
    return Recording(header, entries, frozenset(lines))


def recover_recording(path: Path) -> Recording:
    """Read a recording that is to be replaced: all of it, or only its lines if it is damaged."""
    try:
        return read_recording(path)
    except RecordingError:
        return Recording(RecordingHeader(), (), frozenset(_read_existing_lines(path)))


def _parse_json_object(line: str, path: Path, number: int) -> Mapping[str, Any]:
    try:
        written = json.loads(line)
    except (ValueError, RecursionError):
        raise _make_line_error(path, number, "not JSON") from None
    if not isinstance(written, dict):
        raise _make_line_error(path, number, "not a JSON object")
    return written


def _make_line_error(path: Path, number: int, why: str) -> RecordingError:
    return RecordingError(
        f"{path}:{number}: this line of the recording is {why}; "
        f"restore the file, or record it again with NJC_RECORD=all:{path}"
    )


def _parse_header(written: Mapping[str, Any], path: Path) -> RecordingHeader:
    found = written.get("format")
    if not isinstance(found, int) or written.get("protocol") not in get_args(Protocol):
        raise _make_line_error(path, 1, "not the header that a recording begins with")
    if found > FORMAT_VERSION:
        raise RecordingError(
            f"{path}:1: the recording has format {found}, newer than this njrt knows ({FORMAT_VERSION}); upgrade njpy"
        )
    texts = {name: str(written.get(name, "")) for name in ("model", "date", "note", "made_by")}
    return RecordingHeader(protocol=written["protocol"], **texts)


def _parse_entry(
    written: Mapping[str, Any], header: RecordingHeader, path: Path, number: int
) -> RecordedCall:
    try:
        model = written.get("model", header.model)
        reply_from_json(written["reply"], model)
        shown = tuple(dict(message) for message in written["shown"])
        return RecordedCall(
            str(written["place"]),
            int(written["turn"]),
            str(written["key"]),
            shown,
            written["reply"],
            model,
        )
    except (LookupError, TypeError, ValueError, AttributeError):
        raise _make_line_error(path, number, "not a recorded model call") from None


def format_recording_lines(recording: Recording) -> list[str]:
    """The lines of a recording's file."""
    header = recording.header
    made = {"made_by": header.made_by, "model": header.model, "protocol": header.protocol}
    note = {"note": header.note} if header.note else {}
    first = {"format": FORMAT_VERSION, **made, "date": header.date, **note}
    return [format_json_line(first), *(_format_entry(entry, header) for entry in recording.entries)]


def _format_entry(entry: RecordedCall, header: RecordingHeader) -> str:
    written: dict[str, Any] = {"place": entry.place, "turn": entry.turn, "key": entry.key}
    if entry.model != header.model:
        written["model"] = entry.model
    return format_json_line(written | {"shown": list(entry.shown), "reply": entry.reply})


def write_recording(path: Path, recording: Recording, old: Recording) -> None:
    """Replace the file by `recording` and what other processes have added since `old` was read."""
    lines = format_recording_lines(recording)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with lock_folder(path.parent):
            known = old.lines.union(lines)
            lines += [line for line in _read_existing_lines(path)[1:] if line not in known]
            _replace_file(path, "\n".join(lines) + "\n")
    except OSError as error:
        raise RecordingError(
            f"cannot write the recording {path}: {error.strerror or error}; choose a folder that can be written to"
        ) from None


def _read_existing_lines(path: Path) -> list[str]:
    with contextlib.suppress(FileNotFoundError, UnicodeDecodeError):
        return [line for line in path.read_bytes().decode().split("\n") if line.strip()]
    return []


def _replace_file(path: Path, text: str) -> None:
    """Replace a file atomically: readers see the old contents or the new. Only its user may read it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.unlink(missing_ok=True)
        with os.fdopen(open_private(temporary, os.O_WRONLY | os.O_EXCL), "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
