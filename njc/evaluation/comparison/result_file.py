"""The results of a command that runs something many times: a line for each run, so that it can be continued.

results = ResultFile(path, CaseResult)
results.read()                     reads the results of an earlier command
results.known[key]                 the result with this key, if there is one
results.add(result)                appends it
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from njc.project.units import format_path
from njrt.errors import ConfigurationError, require_packages
from njrt.message_json import parse_json_lines
from njrt.typed_json import InvalidJsonError, from_json, to_json


class KeyedResult(Protocol):
    """The result of a run, which its key distinguishes from others."""

    @property
    def key(self) -> Hashable: ...


ResultT = TypeVar("ResultT", bound=KeyedResult)


def check_report(file: Path | None, *packages: str) -> None:
    """Raise ConfigurationError if a report that needs these packages could not be written after all runs."""
    if file is None:
        return
    if not file.absolute().parent.is_dir():
        raise ConfigurationError(f"no such directory: {format_path(file.absolute().parent)}")
    require_packages("--html", "njpy[bench]", *packages)


@dataclass(slots=True)
class ResultFile(Generic[ResultT]):
    """The results of a file (state: the known ones)."""

    path: Path
    kind: type[ResultT]
    known: dict[Any, ResultT] = field(default_factory=dict)

    def read(self) -> None:
        """Read the file, if it exists; leave out a line that a killed process did not finish.

        Raises:
            ConfigurationError: the file is no file of such results; the message has the line and the field.
        """
        if not self.path.exists():
            return
        lines = self.path.read_text(encoding="utf-8").split("\n")
        for number, line in enumerate(lines, 1):
            if not any(parse_json_lines([line])):
                continue
            try:
                result = from_json(line, self.kind)
            except InvalidJsonError as error:
                raise ConfigurationError(
                    f"{format_path(self.path)}:{number}: {error}; correct the line, name another file, or discard it with --fresh"
                ) from None
            self.known[result.key] = result
        if lines[-1]:
            with self.path.open("a", encoding="utf-8") as file:
                file.write("\n")

    def add(self, result: ResultT) -> None:
        self.known[result.key] = result
        with self.path.open("a", encoding="utf-8") as file:
            file.write(to_json(result) + "\n")
