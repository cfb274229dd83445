"""A case study's results: JSON Lines of one kind in a file that only grows, so that a study can go on.

    file = StudyFile(Path("graph.jsonl"), "graph")
    file.lines()                                 what is there already of this kind, as dicts
    file.append({"size": 100, ...})              one more line, on the disk when it returns

The file may hold lines of other kinds, too. A last line that a kill has cut off is written over.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from njrt.message_json import format_json_line
from spsbench.results import DamagedResultsError


@dataclass(frozen=True, slots=True)
class StudyFile:
    """The lines of one kind in a results file; without a path nothing is kept."""

    path: Path | None
    kind: str

    def lines(self) -> Iterator[dict[str, Any]]:
        """The lines of this kind; `DamagedResultsError` names one that cannot be read."""
        text = self.path.read_text("utf-8") if self.path and self.path.exists() else ""
        for number, line in enumerate(text.splitlines(keepends=True), 1):
            if not line.endswith("\n"):
                break
            try:
                written = json.loads(line)
                is_ours = written.pop("kind") == self.kind
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                raise DamagedResultsError(
                    f"line {number} of {self.path} is damaged ({error}); mend or delete this line"
                ) from None
            if is_ours:
                yield written

    def append(self, entry: dict[str, Any]) -> None:
        """Add a line, in the place of one that was cut off."""
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            data = b"" if has_final_newline(file) else self.path.read_bytes()
            if data:
                file.truncate(data.rfind(b"\n") + 1)
            file.write(format_json_line({"kind": self.kind} | entry).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


def has_final_newline(file: BinaryIO) -> bool:
    """Whether a file is empty or ends with a whole line."""
    length = file.seek(0, os.SEEK_END)
    file.seek(max(0, length - 1))
    return file.read(1) in (b"", b"\n")
