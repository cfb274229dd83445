"""Recording what a block prints, which goes to the program's stdout and to the model.

    print("found", n)        the program's stdout: found 3        transcript.take(): "found 3\\n"

Only the block's own calls of `print` without a `file` are recorded: its code is given this `print`, and
`sys.stdout`, which belongs to the program and all its threads, is not replaced.
"""

from __future__ import annotations

import builtins
from typing import Any

MAX_CHARS = 4_000


class Transcript:
    """The text printed since it was last taken, of at most `MAX_CHARS`; `last` is what was last taken."""

    def __init__(self) -> None:
        self._parts: list[str] | None = []
        self._length = 0
        self.last = ""

    def print(
        self, *values: object, sep: str | None = " ", end: str | None = "\n", file: Any = None, flush: bool = False
    ) -> None:  # fmt: skip
        """The builtin `print`, which also records what goes to stdout."""
        if file is not None or self._parts is None:
            return builtins.print(*values, sep=sep, end=end, file=file, flush=flush)
        texts = [str(value) for value in values]
        builtins.print(*texts, sep=sep, end=end, flush=flush)
        self._record((" " if sep is None else sep).join(texts) + ("\n" if end is None else end))
        return None

    def take(self) -> str:
        """Return the text so far, cut if it was long; the transcript is then empty."""
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
