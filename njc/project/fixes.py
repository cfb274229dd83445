"""Correct findings that have only one right correction: `njc check --fix`.

    Put the sum of < prices > into <: total >.     NJ208     Put the sum of <prices> into <:total>.
    Greet {name}.                                  NJ210     Greet <name>.
    Describe the <class>.                          NJ203     Describe the <<class>.
    Rate <text> as <:n>. ... return n              NJ308     Rate <text> as <:n: int>.    (--hints)

A diagnostic's correction is its `replacement`. A correction never causes a new finding; if it
would, the file is left unchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from njc.compiler.codegen.emit import find_import_place
from njc.compiler.frontend.blocks import NaturalBlock, find_blocks
from njc.compiler.frontend.diagnostics import Diagnostic
from njc.compiler.frontend.parse import parse
from njc.compiler.frontend.source import SourceFile
from njc.project.build import CompileResult

MAX_ROUNDS = 5
"""The maximum number of rounds: one correction may make the next one possible."""

Recompile = Callable[[SourceFile], CompileResult]
"""Compiles a corrected source."""


def correct(result: CompileResult, recompile: Recompile, with_hints: bool = False) -> CompileResult:
    """Apply all corrections to a source, with hints too, and return the result of compiling it."""
    for _ in range(MAX_ROUNDS):
        hints = result.hints if with_hints else ()
        source = apply_replacements(result.source, (*result.diagnostics, *hints))
        if source == result.source:
            break
        corrected = recompile(source)
        if _count_findings(corrected) - _count_findings(result):
            break
        result = corrected
    return result


def apply_replacements(source: SourceFile, diagnostics: Sequence[Diagnostic]) -> SourceFile:
    """Apply the diagnostics' replacements to the text; if two overlap, the first counts."""
    edits = set[tuple[int, int, str]]()
    for found in diagnostics:
        if found.replacement is not None:
            start = source.line_starts[found.line - 1] + found.column - 1
            end = source.line_starts[found.end_line - 1] + found.end_column - 1
            edits.add((start, end, found.replacement))
    parts, position = [], 0
    for start, end, text in sorted(edits):
        if start >= position:
            parts += [source.text[position:start], text]
            position = end
    text = "".join([*parts, source.text[position:]])
    for line in dict.fromkeys(found.imports for found in diagnostics if found.imports):
        text = _add_import(replace(source, data=text.encode(source.encoding)), line)
    return replace(source, data=source.bom + text.encode(source.encoding)) if edits else source


def _add_import(source: SourceFile, line: str) -> str:
    """Return the text with an import above all but its docstring and its future imports."""
    module = parse(source)
    if isinstance(module, Diagnostic):
        return source.text
    blocks = (block.start for block in find_blocks(module) if isinstance(block, NaturalBlock))
    at, text = find_import_place(module, next(blocks, len(source.text)), line)
    return source.text[:at] + text + source.text[at:]


def _count_findings(result: CompileResult) -> Counter[tuple[str, str]]:
    return Counter((diagnostic.code, diagnostic.message) for diagnostic in result.diagnostics)
