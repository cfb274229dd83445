"""The files that a recording's messages were shown with, kept beside it.

    recordings/claims.jsonl                  {"user": [...], "attached": [{"name": "photo", "digest": "9f3c…", ...}]}
    recordings/claims.files/9f3c….png        its bytes

A file is written once, whatever the number of recorded calls that show it. Files that are given by a URL are not kept.
Replaying needs only the digests.
"""

from __future__ import annotations

from collections.abc import Sequence

from njrt.messages import Message, UserMessage
from njrt.persistence.recording_place import RecordingPlace


def keep_attachments(recording: RecordingPlace, messages: Sequence[Message]) -> None:
    """Write the files of a conversation beside the recording, unless they are there."""
    shown = (message for message in messages if isinstance(message, UserMessage))
    for media in (file.media for message in shown for file in message.attachments):
        if media.data:
            recording.keep_file(f"{media.digest}{media.suffix}", media.data)
