"""The standard streams of a controlled program: output goes to the debugger, input is empty.

While steps are replayed, output is not sent. Not detected: direct use of the file descriptors, for
example by child processes; its output goes to the debugger's standard error, and appears again when
steps are replayed.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any, BinaryIO, cast

WriteText = Callable[[str, bytes], None]
"""Called with a stream's name and the bytes written."""


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


def replace_streams(write: WriteText) -> None:
    """Replace the output streams of this process."""
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


def flush_streams() -> None:
    """Flush the standard streams."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # closed, or replaced by the program
            continue
