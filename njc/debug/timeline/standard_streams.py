"""The standard streams of a controlled program: output goes to the debugger, input comes from it.

While steps are replayed, output is not sent and the same input is given again. Not detected: direct
use of the file descriptors, for example by child processes; its output goes to the debugger's
standard error, and appears again when steps are replayed, and file descriptor 0 is empty.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any, BinaryIO, cast

WriteText = Callable[[str, bytes], None]
"""Called with a stream's name and the bytes written."""
ReadInput = Callable[[int, int], bytes]
"""Called with a position in the input and a maximum number of bytes; returns b"" at the end."""


class ControlledOutput(io.RawIOBase):
    """A program's output stream, which sends its bytes to the debugger."""

    def __init__(self, name: str, handle: int, write: WriteText) -> None:
        self._name, self._handle, self._write = name, handle, write

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._handle

    def write(self, data: Any) -> int:
        data = bytes(data)
        self._write(self._name, data)
        return len(data)


class ControlledInput(io.RawIOBase):
    """The standard input of a program (state: the position)."""

    def __init__(self, read: ReadInput) -> None:
        self._read, self._position = read, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the available bytes: at least one, except at the end of the input."""
        data = self._read(self._position, len(buffer))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)


def replace_streams(write: WriteText, read: ReadInput) -> None:
    """Replace the standard streams of this process."""
    for name in ("stdout", "stderr"):
        raw = ControlledOutput(name, 1 if name == "stdout" else 2, write)
        old = getattr(sys, name)
        stream = io.TextIOWrapper(
            cast(BinaryIO, raw),
            encoding=old.encoding,
            errors=old.errors,
            line_buffering=True,
            write_through=name == "stderr",
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(  # type: ignore[misc]
        io.BufferedReader(ControlledInput(read)), encoding="utf-8", errors="surrogateescape"
    )


def flush_streams() -> None:
    """Flush the standard streams."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # closed, or replaced by the program
            continue
