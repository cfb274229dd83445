"""An open text and its analysis: each part is computed on first use, then kept.

    Document("file:///src/mail.njpy", "mail.njpy", text, version=3).names    in program and prompts

A `Document` is one version of a text. A prompt that is being typed is closed at the end of its
line, and earlier offsets do not change. A text that is not valid Python in another way is not read.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from njc.compiler.analysis.inference import TypeReader
from njc.compiler.compiler import Analysis, Compilation, analyze, generate
from njc.compiler.frontend.blocks import NaturalBlock, collect_block_outputs, find_blocks
from njc.compiler.frontend.diagnostics import Diagnostic
from njc.compiler.frontend.markers import OPENING
from njc.compiler.frontend.name_resolution import BlockOutputs
from njc.compiler.frontend.occurrences import Occurrence, list_occurrences
from njc.compiler.frontend.parse import Module, can_hold_blocks, parse
from njc.compiler.frontend.source import SourceFile, find_line_starts
from njc.project.config import Project
from njrt.data.options import Options
from njrt.data.records import record


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
    """A text as a program."""

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
        """The program; None if the text is not valid Python."""
        return self.read_at(None)

    def read_at(self, offset: int | None) -> Reading | None:
        """Read the text; with an `offset`, allow an open prompt there and compute no findings."""
        if not self.is_natural:
            return None
        if offset is None or "analysis" in vars(self):
            analysis = self.analysis
            if analysis.module is not None:
                return Reading(analysis.module, analysis.blocks, analysis.outputs)
        module = parse(self.source)
        if isinstance(module, Diagnostic) and module.code != "NJ002" and offset is not None:
            closed = _close_prompt(self.source, offset)
            module = parse(closed) if closed is not None else module
        if isinstance(module, Diagnostic):
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
