"""An open text and its analysis: each part is computed on first use, then kept.

    Document("file:///src/mail.njpy", "mail.njpy", text, version=3).names    in program and prompts

A `Document` is one version of a text. If it is not valid Python because it is being typed, it is
read without the lines that stop the parser; an unclosed prompt is closed at the end of its line,
and earlier offsets do not change. Not detected: the names on omitted lines.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from njc.analysis.inference import TypeReader
from njc.compiler import Analysis, Compilation, analyze, generate
from njc.frontend.blocks import NaturalBlock, collect_block_outputs, find_blocks
from njc.frontend.diagnostics import Diagnostic
from njc.frontend.markers import OPENING
from njc.frontend.name_resolution import BlockOutputs
from njc.frontend.occurrences import Occurrence, list_occurrences
from njc.frontend.parse import Module, can_hold_blocks, parse
from njc.frontend.source import SourceFile, find_line_starts
from njc.project.config import Project
from njrt.options import Options
from njrt.records import record


@dataclass(frozen=True)
class LineIndex:
    """A text and where its lines start."""

    text: str

    @cached_property
    def starts(self) -> tuple[int, ...]:
        return find_line_starts(self.text)

    def get_line(self, number: int) -> str:
        """Return a line's text without its line end; lines are numbered from 0."""
        end = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.text)
        return self.text[self.starts[number] : end].rstrip("\r\n")

    def get_position(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset in characters, both counted from 0."""
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(self.starts, offset) - 1
        return line, len(self.text[self.starts[line] : offset].rstrip("\r"))


MAX_CHARACTERS = 2_000_000
"""The maximum length of a text to analyse; a longer text has a single finding about its length."""


@record
class TextEdit:
    """A replacement of the text between two offsets."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Reading:
    """The readable part of a text, which may not be valid Python."""

    module: Module
    blocks: tuple[NaturalBlock, ...]
    outputs: BlockOutputs

    @cached_property
    def types(self) -> TypeReader:
        return TypeReader(self.outputs, self.module.source.text, self.blocks)

    @cached_property
    def names(self) -> list[Occurrence]:
        """Every name in the program and its prompts, in the order of the text."""
        return list_occurrences(self.module, self.blocks, self.outputs)

    def find_name(self, offset: int) -> Occurrence | None:
        """Return the name at an offset, or just before it."""
        index = bisect_right(self.names, offset, key=lambda it: it.start)
        around = reversed(self.names[max(0, index - 2) : index])
        return next((it for it in around if it.start <= offset <= it.end), None)

    def list_uses(self, occurrence: Occurrence) -> list[Occurrence]:
        """Return all occurrences of the same variable."""
        return [it for it in self.names if it.variable == occurrence.variable]

    def find_block(self, offset: int) -> NaturalBlock | None:
        return next((block for block in self.blocks if block.start <= offset <= block.end), None)


@dataclass(frozen=True)
class Document:
    """One version of an open text. `path` is relative to the source root, as in compiled files."""

    uri: str
    path: str
    text: str
    version: int | None = None
    project: Project = field(default_factory=Project)
    last_reading: Reading | None = None
    """The program as of the last version that was valid Python."""

    @property
    def options(self) -> Options:
        return self.project.options

    @cached_property
    def lines(self) -> LineIndex:
        return LineIndex(self.text)

    @property
    def is_natural(self) -> bool:
        """Whether the text is a natural program that is small enough to analyse."""
        return self.path.endswith(".njpy") and len(self.text) <= MAX_CHARACTERS

    @cached_property
    def source(self) -> SourceFile:
        """The text as a file in UTF-8, whatever encoding it declares: the client has decoded it."""
        return SourceFile(self.path, self.text.encode("utf-8", "surrogatepass"), "utf-8")

    @cached_property
    def analysis(self) -> Analysis:
        """The blocks and the findings, except findings that need the compiled form."""
        analysis = analyze(self.source)
        if analysis.module is not None or analysis.diagnostics:
            return analysis
        module = parse(self.source)  # a text without natural blocks
        if isinstance(module, Diagnostic):
            return replace(analysis, diagnostics=(module,))
        return replace(analysis, module=module)

    @cached_property
    def compilation(self) -> Compilation:
        """The compiled form, or the findings that prevent it."""
        analysis = self.analysis
        if not can_hold_blocks(self.source.data):  # compiling copies its bytes
            analysis = replace(analysis, module=None)
        return generate(analysis, project=self.options)

    @cached_property
    def findings(self) -> tuple[Diagnostic, ...]:
        """All findings and hints, as reported under the project's settings."""
        return self.report((*self.compilation.diagnostics, *self.compilation.hints))

    def report(self, findings: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
        raises = self.project.warnings == "error"
        return tuple(
            replace(it, severity="error") if raises and it.severity == "warning" else it
            for it in findings
        )

    @cached_property
    def reading(self) -> Reading | None:
        """The program, or its readable part if it is not valid Python."""
        return self.read_at(None)

    def read_at(self, offset: int | None) -> Reading | None:
        """Read the text; with an `offset`, allow an open prompt there and compute no findings."""
        if not self.is_natural:
            return None
        if offset is None or "analysis" in vars(self):
            analysis = self.analysis
            if analysis.module is not None:
                return Reading(analysis.module, analysis.blocks, analysis.outputs)
        module: Module | Diagnostic | None = parse(self.source)
        if isinstance(module, Diagnostic):
            module = recover(self.source, offset) if module.code != "NJ002" else None
        if module is None:
            return None
        blocks = tuple(item for item in find_blocks(module) if isinstance(item, NaturalBlock))
        return Reading(module, blocks, collect_block_outputs(blocks))

    @property
    def is_python(self) -> bool:
        """Whether the text is valid Python."""
        return self.reading is not None and self.reading.module.source is self.source

    def change(self, text: str, version: int | None) -> Document:
        """Return the next version of the document."""
        was_read = "reading" in vars(self) and self.is_python
        last = self.reading if was_read else self.last_reading
        return replace(self, text=drop_mark(text), version=version, last_reading=last)


def drop_mark(text: str) -> str:
    """Return a text without its byte order mark, which clients do not send as a rule."""
    return text.removeprefix("\ufeff")


def apply_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """Return the text with replacements that do not overlap."""
    parts, position = [], 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        parts += [text[position : edit.start], edit.text]
        position = edit.end
    return "".join([*parts, text[position:]])


MAX_BLANKED_LINES = 12
"""The number of lines that are blanked before the text counts as unreadable."""

_HEADER_LINE = re.compile(r"expected an indented block after .* on line (\d+)")


def recover(source: SourceFile, offset: int | None = None) -> Module | None:
    """Parse a text without the lines that are not Python; a prompt may be unclosed at `offset`."""
    closed = _close_prompt(source, offset) if offset is not None else None
    texts = [source] if closed is None else [source, closed]
    for text in texts:
        if isinstance(module := parse(text), Module):
            return module
    return next(filter(None, map(_parse_without_errors, reversed(texts))), None)


def find_open_prompt(text: str, offset: int) -> re.Match[str] | None:
    """Return the opening of the prompt around an offset; None if all before it are closed."""
    openings = list(OPENING.finditer(text, 0, offset))
    is_open = openings and openings[-1]["quotes"] not in text[openings[-1].end() : offset]
    return openings[-1] if is_open else None


def _close_prompt(source: SourceFile, offset: int) -> SourceFile | None:
    """If a prompt is unclosed at an offset, close it at the end of the line."""
    opening = find_open_prompt(source.text, offset)
    if opening is None:
        return None
    line, _ = source.place(offset)
    end = source.line_starts[line - 1] + len(source.line(line).rstrip("\r\n"))
    text = source.text[:end] + opening["quotes"] + source.text[end:]
    return SourceFile(source.path, text.encode(), "utf-8")


def _parse_without_errors(source: SourceFile) -> Module | None:
    """Parse a text, blanking the lines that stop the parser."""
    blanked: dict[int, int] = {}
    for _ in range(MAX_BLANKED_LINES):
        found = parse(source)
        if isinstance(found, Module):
            return found
        line = _choose_line(source, found, blanked)
        if line is None:
            return None
        blanked[line] = blanked.get(line, 0) + 1
        source = _blank_line(source, line, keeps_statement=blanked[line] == 1)
    return None


def _choose_line(source: SourceFile, error: Diagnostic, blanked: dict[int, int]) -> int | None:
    """Return the line to blank: the line of the error, or one above it if that is already blank."""
    if header := _HEADER_LINE.search(error.message):
        return int(header[1])
    line = error.line
    while line >= 1 and (blanked.get(line, 0) > 1 or not source.line(line).strip()):
        line -= 1
    return line or None


def _blank_line(source: SourceFile, number: int, *, keeps_statement: bool) -> SourceFile:
    """Replace a line with the statement `0` at its indentation, or with spaces."""
    line = source.line(number)
    content = line.rstrip("\r\n")
    indent = content[: len(content) - len(content.lstrip())]
    statement = "0" if keeps_statement and content.strip() else ""
    blank = indent + statement + " " * (len(content) - len(indent) - len(statement))
    start = source.line_starts[number - 1]
    text = source.text[:start] + blank + line[len(content) :] + source.text[start + len(line) :]
    return SourceFile(source.path, text.encode(), "utf-8")
