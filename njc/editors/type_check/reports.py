"""A type checker's output, with places in the sources.

    src/shop/mail.py:7:15: error: "User" has no attribute "nmae"  [attr-defined]
    src/shop/mail.njpy:9:20: error: "User" has no attribute "nmae"  [attr-defined]

It reads the text and JSON output of mypy (one object per line) and pyright (one document), and the
text output of other checkers that write `FILE:LINE:COLUMN`. Lines that name no place in a rendered
file are kept as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Literal

from njc.editors.type_check.rendering import RenderedSource
from njrt.records import record

ColumnUnit = Literal["utf-8", "utf-16-le"]
Place = tuple[int, int]
"""A line, counted from 1, and a column, counted from 0."""


def find_source_place(
    file: RenderedSource, place: Place, unit: ColumnUnit, *, is_end: bool = False
) -> Place:
    """Return the source place for a rendered place; `is_end` if a range ends before it."""
    rendered = file.rendered
    line = min(max(place[0], 1), len(rendered.line_starts))
    start = rendered.line_starts[line - 1]
    text = rendered.line(line).rstrip("\r\n")
    own_line, own_start = file.source.place(file.find_source_offset(start))
    if own_start == 1 and file.source.line(own_line).rstrip("\r\n") == text:
        return own_line, place[1]
    column = place[1]
    lengths = [_count_characters(text, max(column, 0) * _WIDTHS[unit], unit)]
    if unit == "utf-8" and not text.isascii():
        # mypy 2.4 counts the characters of as many bytes as there are characters.
        lengths += [n for n in range(len(text)) if _count_characters(text, n, unit) == column][:1]
    offsets = [start + length for length in lengths]
    starting = [offset for offset in offsets if file.starts_piece(offset)]
    found = file.find_source_offset((starting or offsets)[0], is_end=is_end)
    line, column = file.source.place(found)
    before = file.source.line(line)[: column - 1]
    return line, len(before) if unit == "utf-8" else len(before.encode(unit, "surrogatepass")) // 2


_WIDTHS = {"utf-8": 1, "utf-16-le": 2}


def _count_characters(text: str, size: int, unit: ColumnUnit) -> int:
    return len(text.encode(unit, "surrogatepass")[:size].decode(unit, "ignore"))


JsonObject = dict[str, Any]
"""A finding as written by a checker; fields other than places are passed on unchecked."""


@record
class ReportedFile:
    """A file named in a report: the name to show, and the rendered source if there is one."""

    name: str
    rendered: RenderedSource | None


FindFile = Callable[[str], ReportedFile]
"""Finds a file by its name in a report."""

_FINDING = re.compile(
    r"^(?P<indent>\s*)(?P<file>\S.*?\.pyi?):(?P<line>\d+)"
    r"(?::(?P<column>\d+)(?::(?P<end_line>\d+):(?P<end_column>\d+))?)?(?P<rest>(?:: | - ).*)$"
)
_FILE_HEADING = re.compile(r"^(?P<file>/\S.*\.pyi?|[A-Za-z]:\\.*\.pyi?)$")
_LINE_REFERENCE = re.compile(r"\b(on line )(\d+)")


def translate_report(text: str, find_file: FindFile) -> str:
    """Translate everything that a checker wrote to standard output or standard error."""
    if text.lstrip().startswith("{"):
        try:
            document = json.loads(text)
        except ValueError:
            pass
        else:
            if isinstance(document.get("generalDiagnostics"), list):
                return _translate_pyright_document(document, find_file)
    return "".join(_translate_line(line, find_file) for line in text.splitlines(keepends=True))


def _translate_line(line: str, find_file: FindFile) -> str:
    bare = line.rstrip("\r\n")
    end = line[len(bare) :]
    if bare.startswith("{"):
        try:
            finding = json.loads(bare)
        except ValueError:
            return line
        return json.dumps(_translate_mypy_finding(finding, find_file)) + end
    if heading := _FILE_HEADING.match(bare):
        return find_file(heading["file"]).name + end
    if found := _FINDING.match(bare):
        return _translate_finding(found, find_file) + end
    return line


def _translate_finding(found: re.Match[str], find_file: FindFile) -> str:
    """Translate a line `FILE:LINE:COLUMN:END_LINE:END_COLUMN: MESSAGE`; the end is inclusive."""
    file = find_file(found["file"])
    numbers = [int(found[name]) for name in _NUMBERS if found[name]]
    rest = found["rest"]
    if file.rendered is not None:
        unit: ColumnUnit = "utf-16-le" if rest.startswith(" - ") else "utf-8"
        column = numbers[1] - 1 if len(numbers) > 1 else 0
        line, column = find_source_place(file.rendered, (numbers[0], column), unit)
        places = [line, column + 1]
        if len(numbers) == 4:
            places += find_source_place(file.rendered, (numbers[2], numbers[3]), unit, is_end=True)
        numbers = places[: len(numbers)]
        rest = _translate_message(rest, file.rendered)
    return f"{found['indent']}{file.name}:{':'.join(map(str, numbers))}{rest}"


_NUMBERS = ("line", "column", "end_line", "end_column")


def _translate_message(message: str, rendered: RenderedSource) -> str:
    """Translate the lines that a message names, such as `already defined on line 3`."""
    return _LINE_REFERENCE.sub(
        lambda found: f"{found[1]}{find_source_place(rendered, (int(found[2]), 0), 'utf-8')[0]}",
        message,
    )


def _translate_mypy_finding(finding: JsonObject, find_file: FindFile) -> JsonObject:
    """Translate one line of `mypy --output json`: lines count from 1, columns from 0."""
    file = find_file(str(finding.get("file", "")))
    changed = {**finding, "file": file.name} if "file" in finding else finding
    rendered, line, column = file.rendered, finding.get("line"), finding.get("column")
    if rendered is None or not isinstance(line, int) or line < 1:
        return changed
    known = column if isinstance(column, int) and column >= 0 else 0
    place = find_source_place(rendered, (line, known), "utf-8")
    changed["line"], changed["column"] = place[0], place[1] if known == column else column
    end_line, end_column = finding.get("end_line"), finding.get("end_column")
    if isinstance(end_line, int) and isinstance(end_column, int) and end_column >= 0:
        end = find_source_place(rendered, (end_line, end_column), "utf-8", is_end=True)
        changed["end_line"], changed["end_column"] = end
    for key in ("message", "hint"):
        if isinstance(changed.get(key), str):
            changed[key] = _translate_message(changed[key], rendered)
    return changed


def _translate_pyright_document(document: JsonObject, find_file: FindFile) -> str:
    """Translate the document of `pyright --outputjson`: lines and columns count from 0."""
    for finding in document["generalDiagnostics"]:
        file = find_file(str(finding.get("file", "")))
        if "file" in finding:
            finding["file"] = file.name
        if file.rendered is not None and "range" in finding:
            for edge in ("start", "end"):
                at = finding["range"][edge]
                line, column = find_source_place(
                    file.rendered,
                    (at["line"] + 1, at["character"]),
                    "utf-16-le",
                    is_end=edge == "end",
                )
                finding["range"][edge] = {"line": line - 1, "character": column}
    return json.dumps(document, indent=4, ensure_ascii=False) + "\n"
