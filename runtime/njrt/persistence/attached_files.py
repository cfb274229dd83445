"""The files that a recording's messages were shown with, kept beside it.

    recordings/claims.jsonl                  {"user": [...], "attached": [{"name": "photo", "digest": "9f3c…", ...}]}
    recordings/claims.files/9f3c….png        its bytes

A file is written once, whatever the number of recorded calls that show it. Files that are given by a URL are not kept.
Replaying needs only the digests.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from njrt.errors import RecordingError
from njrt.messages import Message, UserMessage
from njrt.private_files import open_private


def find_files_folder(recording: Path) -> Path:
    """The folder with the files of a recording."""
    return recording.with_name(f"{recording.stem}.files")


def keep_attachments(recording: Path, messages: Sequence[Message]) -> None:
    """Write the files of a conversation beside the recording, unless they are there."""
    folder = find_files_folder(recording)
    shown = (message for message in messages if isinstance(message, UserMessage))
    for media in (file.media for message in shown for file in message.attachments):
        path = folder / f"{media.digest}{media.suffix}"
        if media.data and not path.exists():
            _write_file(path, media.data)


def _write_file(path: Path, data: bytes) -> None:
    """Write a file atomically; only its user may read it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with os.fdopen(open_private(temporary, os.O_WRONLY | os.O_EXCL), "wb") as file:
                file.write(data)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise RecordingError(
            f"cannot write the file {path}: {error.strerror or error}; choose a folder that can be written to"
        ) from None
