"""The rows of a batch: CSV or JSON Lines, each row the arguments of one call.

    mail,urgent                     {"mail": "Please pay 84.20 EUR.", "urgent": true}
    Please pay 84.20 EUR.,true

A line that is not a row is a row with a problem, which fails when it is called.
"""

from __future__ import annotations

import csv
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

from njc.project.units import explaining_failure, format_path
from njc.target import InvalidRowError, TargetFunction
from njrt.data.records import field, record
from njrt.errors import ConfigurationError

RowFormat = Literal["csv", "jsonl"]


@record
class BatchRow:
    """A row: its number from 1, its line in the file, and its arguments or why it has none."""

    number: int
    line: int
    digest: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""


def find_row_format(path: Path, given: RowFormat | None) -> RowFormat:
    """Return the format of a file of rows, by its suffix unless it is given."""
    if given is None and path.suffix.lower() not in (".csv", ".jsonl"):
        raise ConfigurationError(
            f"{format_path(path)}: its suffix is no format; name it by --format"
        )
    return given or ("csv" if path.suffix.lower() == ".csv" else "jsonl")


def read_rows(path: Path, format: RowFormat, target: TargetFunction) -> Iterator[BatchRow]:
    """Yield the rows of a file, one at a time; raises ConfigurationError if it cannot be read.

    In CSV, the columns are parameters of `target`, and an empty cell of a parameter with a default
    is left out.
    """
    if path.exists() and not path.is_file():  # a pipe cannot be read twice
        raise ConfigurationError(f"{format_path(path)} is not a regular file")
    try:
        with (
            explaining_failure(f"read {format_path(path)}"),
            path.open(encoding="utf-8-sig", newline="") as file,
        ):
            if format == "csv":
                yield from _read_csv(path, file, target)
            else:
                yield from _read_json_lines(file)
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"{format_path(path)} is not UTF-8: {error.reason}; save it in UTF-8"
        ) from None


def bind_row(target: TargetFunction, row: BatchRow) -> tuple[list[Any], dict[str, Any]]:
    """Return a call's arguments; raises InvalidRowError with the row and its line."""
    try:
        if row.problem:
            raise InvalidRowError(row.problem)
        return target.bind_arguments(row.arguments)
    except InvalidRowError as error:
        raise InvalidRowError(f"row {row.number} (line {row.line}): {error}") from None


def _read_json_lines(lines: Iterator[str]) -> Iterator[BatchRow]:
    numbered = ((line, text.strip()) for line, text in enumerate(lines, 1))
    for number, (line, text) in enumerate(((n, it) for n, it in numbered if it), 1):
        made = partial(BatchRow, number, line, _compute_digest(text))
        try:
            arguments = json.loads(text, object_pairs_hook=_make_object)
        except json.JSONDecodeError as error:
            yield made(problem=f"not JSON: {error.msg} at column {error.colno}")
        except (ValueError, RecursionError) as error:  # a second key, or nested too deep
            yield made(problem=f"not JSON: {error}")
        else:
            is_object = isinstance(arguments, dict)
            yield made(arguments) if is_object else made(problem="not a JSON object")


def _read_csv(path: Path, lines: Iterator[str], target: TargetFunction) -> Iterator[BatchRow]:
    csv.field_size_limit(sys.maxsize)
    reader = csv.reader(lines, strict=True)
    number = 0
    try:
        names = next(reader, [])
        if repeated := [name for name in names if names.count(name) > 1]:
            raise ConfigurationError(
                f"{format_path(path)}, line 1: the column `{repeated[0]}` is there twice"
            )
        _check_columns(path, names, target)
        optional = {
            it.name for it in target.signature.parameters.values() if it.default is not it.empty
        }
        for cells in filter(None, reader):
            number += 1
            made = partial(BatchRow, number, reader.line_num, _compute_digest(repr((names, cells))))
            if len(cells) == len(names):
                pairs = zip(names, cells, strict=True)
                yield made({name: cell for name, cell in pairs if cell or name not in optional})
            else:
                yield made(problem=f"{len(cells)} cells for {len(names)} columns")
    except csv.Error as error:
        raise ConfigurationError(
            f"{format_path(path)}, line {reader.line_num} (row {number + 1}): {error}"
        ) from None


def _check_columns(path: Path, names: list[str], target: TargetFunction) -> None:
    """Raise ConfigurationError unless the columns of a CSV file fit the function's parameters."""
    try:
        target.signature.bind(**dict.fromkeys(names))
    except TypeError as error:
        columns = ", ".join(f"`{name}`" for name in names) or "none"
        raise ConfigurationError(
            f"{format_path(path)}, line 1: the columns ({columns}) do not fit the function: {error}"
        ) from None


def _compute_digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"the key `{repeated[0]}` is there more than once")
    return dict(pairs)
