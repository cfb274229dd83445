"""The text that a block's code prints, for the model that wrote the code."""

from __future__ import annotations

import builtins
from typing import Any

MAX_CHARS = 4_000


class Transcript:
    """The text printed since it was last taken, up to `MAX_CHARS`; `last` is the text last taken.

    Only the block's own calls to `print` without a `file` are recorded: its code is given this
    `print`, but `sys.stdout`, which belongs to the program and all its threads, is not replaced.
    """

    def __init__(self) -> None:
        self._parts: list[str] | None = []
        self._length = 0
        self.last = ""

    def print(
        self,
        *values: object,
        sep: str | None = " ",
        end: str | None = "\n",
        file: Any = None,
        flush: bool = False,
    ) -> None:
        """Print as the builtin does, and record the output to stdout."""
        if file is not None or self._parts is None:
            return builtins.print(*values, sep=sep, end=end, file=file, flush=flush)
        texts = [str(value) for value in values]
        builtins.print(*texts, sep=sep, end=end, flush=flush)
        self._record((" " if sep is None else sep).join(texts) + ("\n" if end is None else end))
        return None

    def take(self) -> str:
        """Return the text so far, shortened if it was long, and empty the transcript."""
        if self._parts is None:
            return ""
        text, left_out = "".join(self._parts), self._length - MAX_CHARS
        self._parts, self._length = [], 0
        self.last = text if left_out <= 0 else f"{text}… ({left_out} more characters printed)\n"
        return self.last

    def close(self) -> None:
        """Stop recording; a function that outlives the block still prints."""
        self._parts = None

    def _record(self, text: str) -> None:
        room = MAX_CHARS - self._length
        self._length += len(text)
        if room > 0 and self._parts is not None:
            self._parts.append(text[:room])
