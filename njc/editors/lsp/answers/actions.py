"""Corrections that an editor offers for findings.

<itmes>                 NJ201       write <items>; write <<itmes>, which is text
<:team>                 NJ304       give `team` the type str
anything that may be    NJ...       ignore it here: # njc: ignore[NJ204]
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from njc.compiler.frontend.diagnostics import FATAL, Diagnostic
from njc.compiler.frontend.prompt_references import NAME
from njc.editors.lsp.answers.navigation import Span
from njc.editors.lsp.texts.documents import Document, Reading, TextEdit
from njrt.data.records import record


@record
class Correction:
    """A change that corrects a finding; `is_preferred` if it is the only right change."""

    title: str
    finding: Diagnostic
    edits: tuple[TextEdit, ...]
    is_preferred: bool = False


def get_span(document: Document, finding: Diagnostic) -> Span:
    """Return the start and end of a finding in the text; the end is never before the start."""
    starts = document.lines.starts
    first, last = min(finding.line, len(starts)) - 1, min(finding.end_line, len(starts)) - 1
    start = min(starts[first] + finding.column - 1, len(document.text))
    return start, max(start, min(starts[last] + finding.end_column - 1, len(document.text)))


def list_corrections(document: Document, start: int, end: int) -> Iterator[Correction]:
    """Yield the corrections of the findings between two offsets."""
    if not document.is_natural:
        return
    for finding in document.findings:
        first, last = get_span(document, finding)
        if first <= end and start <= last:
            yield from _correct(document, finding, (first, last))


def _correct(document: Document, finding: Diagnostic, span: Span) -> Iterator[Correction]:
    written = document.text[slice(*span)]
    meant = re.fullmatch(r"did you mean `([^`]+)`\?", finding.hint or "")
    if finding.code == "NJ201" and meant:
        name = finding.message.partition("`")[2].partition("`")[0]
        words = re.finditer(NAME, written)
        for at in [at for at in words if unicodedata.normalize("NFKC", at[0]) == name][:1]:
            edit = TextEdit(span[0] + at.start(), span[0] + at.end(), meant[1])
            yield Correction(f"Change `{name}` to `{meant[1]}`", finding, (edit,), True)
    is_of_type = "in the type of" in finding.message
    if finding.code in ("NJ201", "NJ209") and written.startswith("<") and not is_of_type:
        edit = TextEdit(span[0], span[0], "<")
        yield Correction(f"Make `{written}` plain text", finding, (edit,))
    declared = re.search(r"declare `((?:global|nonlocal) \w+)`", finding.hint or "")
    reading = document.reading
    if declared and reading is not None:
        yield from _declare(document, reading, finding, span, declared[1])
    if finding.code == "NJ304" and reading is not None:
        yield from _annotate_outputs(document, reading, finding, span)
    if finding.code not in FATAL and finding.severity != "hint":
        yield _ignore(document, finding, span)


def _declare(
    document: Document, reading: Reading, finding: Diagnostic, span: Span, declaration: str
) -> Iterator[Correction]:
    """Declare an output global or nonlocal at the head of its function."""
    block = reading.find_block(span[0])
    if block is None or not block.scope.is_function:
        return
    body = block.scope.node.body
    source = reading.module.source
    is_block = source.get_offset(body[0].lineno, body[0].col_offset) in {
        other.start for other in reading.blocks
    }
    has_docstring = not is_block and re.match(r"\s*[rRuU]?[\"']", source.line(body[0].lineno))
    first = body[1] if has_docstring and len(body) > 1 else body[0]
    start = source.get_offset(first.lineno, first.col_offset)
    line_start = source.line_starts[first.lineno - 1]
    indent = document.text[line_start:start]
    if not indent.strip():
        text = f"{indent}{declaration}{source.newline}"
        edit = TextEdit(line_start, line_start, text)
        yield Correction(f"Declare `{declaration}`", finding, (edit,))


def _annotate_outputs(
    document: Document, reading: Reading, finding: Diagnostic, span: Span
) -> Iterator[Correction]:
    """Give the block's outputs the types that the hint names, unless the prompt states others."""
    block = reading.find_block(span[0])
    wanted = dict(re.findall(r"(?:write|as in) `<:([\w.]+): ([^`]+)>`", finding.hint or ""))
    references = block.references if block is not None else ()
    untyped = {
        tag.end - 1: f"{tag.path}: {wanted[tag.path]}"
        for tag in references
        if tag.writes and not tag.type and tag.path in wanted
    }
    if untyped:
        edits = tuple(TextEdit(at, at, text[text.index(":") :]) for at, text in untyped.items())
        yield Correction(f"Give types: `{'`, `'.join(untyped.values())}`", finding, edits)


def _ignore(document: Document, finding: Diagnostic, span: Span) -> Correction:
    """Silence a finding with a comment above its line, or above its block."""
    reading = document.reading
    block = reading.find_block(span[0]) if reading is not None else None
    line = block.line if block is not None else finding.line
    start = document.lines.starts[line - 1]
    content = document.lines.get_line(line - 1)
    indent = content[: len(content) - len(content.lstrip())]
    newline = document.source.newline
    edit = TextEdit(start, start, f"{indent}# njc: ignore[{finding.code}]{newline}")
    return Correction(f"Ignore {finding.code} here", finding, (edit,))
