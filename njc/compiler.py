"""The compiler on one screen.

    SourceFile  ->  Module  ->  [NaturalBlock]  ->  [LoweredBlock]  ->  [Piece]  ->  bytes
                              └──────────────────  [Diagnostic]

`compile_source` is a pure function: it reads no file, no clock and no environment, and gives the same
bytes for the same source on every platform and every Python.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from njc import __version__
from njc.analysis.assignment import check_flow
from njc.analysis.check import check
from njc.codegen.emit import emit, emit_untouched
from njc.codegen.header import Header, closing_comment, header_for
from njc.codegen.linemap import LineMap, Piece, line_map_of, remap, spelled
from njc.codegen.lower import WrittenBlock, aliases_for, digestible, instead_of, lower
from njc.frontend.blocks import NaturalBlock, find_blocks, outputs_of
from njc.frontend.diagnostics import Diagnostic
from njc.frontend.directives import FileDirectives, file_directives, not_ignored
from njc.frontend.parse import Module, error_in, may_hold_blocks, not_python, parse, parse_quietly
from njc.frontend.source import SourceFile
from njrt.options import Options, nearest

NO_OPTIONS = Options()


@dataclass(frozen=True, slots=True)
class Compilation:
    """The result of compiling one file; `output` is None where a diagnostic is an error."""

    source: SourceFile
    blocks: tuple[NaturalBlock, ...]
    diagnostics: tuple[Diagnostic, ...]
    output: bytes | None
    line_map: LineMap


def compile_source(
    source: SourceFile,
    *,
    project: Options = NO_OPTIONS,
    version: str = __version__,
    written: Sequence[WrittenBlock] = (),
) -> Compilation:
    """Compile a `.njpy` file, reporting everything that is to be said of it.

    `written` is code, generated beforehand, that takes the place of some of the blocks.
    """
    header = header_for(source, project, version, digestible(written))
    if not may_hold_blocks(source.data):
        return _untouched(source, header)
    module = parse(source)
    if isinstance(module, Diagnostic):
        return Compilation(source, (), (module,), None, LineMap())
    directives = file_directives(module)
    found = list(find_blocks(module))
    blocks = tuple(
        replace(each, options=nearest(each.options, directives.options))
        for each in found
        if isinstance(each, NaturalBlock)
    )
    outputs = outputs_of(blocks)
    problems = [each for each in found if isinstance(each, Diagnostic)]
    problems += directives.problems
    problems += check(module, blocks, outputs)
    problems += check_flow(module, blocks, outputs)
    diagnostics = _settled(source, problems, directives, blocks)
    if any(each.severity == "error" for each in diagnostics):
        return Compilation(source, blocks, diagnostics, None, LineMap())
    aliases = aliases_for(source.text)
    instead = {each.block.start: each for each in written}
    lowered = tuple(
        instead_of(each, instead.get(each.block.start))
        for each in lower(blocks, outputs, aliases, source.path, project)
    )
    pieces = emit(module, lowered, header, aliases.runtime)
    encoded = [each.text.encode(source.encoding, _SPELLED) for each in pieces]
    return _proven(module, _finished(source, blocks, diagnostics, pieces, encoded))


def _proven(module: Module, compilation: Compilation) -> Compilation:
    """Refuse a program that parses and yet does not compile, such as one with a stray `return`.

    A block may bind what a `nonlocal` asks for, so where the source fails the result has the last word.
    """
    if error_in(module.tree) and (error := error_in(remapped_tree(compilation))):
        diagnostics = (
            *compilation.diagnostics,
            not_python(module.source, error, counts_bytes=True),
        )
        return replace(
            compilation, diagnostics=tuple(sorted(diagnostics)), output=None, line_map=LineMap()
        )
    return compilation


def _settled(
    source: SourceFile,
    problems: Iterable[Diagnostic],
    directives: FileDirectives,
    blocks: Sequence[NaturalBlock],
) -> tuple[Diagnostic, ...]:
    spans = [(each.line, each.end_line) for each in blocks]
    return tuple(sorted(set(not_ignored(problems, source, directives, spans))))


def _untouched(source: SourceFile, header: Header) -> Compilation:
    """Compile a file without blocks, which needs neither decoding nor parsing: bytes are kept as bytes."""
    pieces = emit_untouched(replace(source, known_encoding="latin-1"), header)
    encoded = [
        each.text.encode("latin-1" if each.is_authors else "ascii", _SPELLED) for each in pieces
    ]
    return _finished(source, (), (), pieces, encoded)


_SPELLED = "backslashreplace"
"""The scaffold may name what an encoding lacks, such as the file's path; the author's text never does."""


def _finished(
    source: SourceFile,
    blocks: tuple[NaturalBlock, ...],
    diagnostics: tuple[Diagnostic, ...],
    pieces: Sequence[Piece],
    encoded: Sequence[bytes],
) -> Compilation:
    """Put the encoded pieces together, and close the file with its line map."""
    line_map = line_map_of(pieces)
    content = source.bom + b"".join(encoded)
    closing = closing_comment(spelled(line_map), content) + "\n"
    return Compilation(source, blocks, diagnostics, content + closing.encode(), line_map)


def remapped_tree(compilation: Compilation) -> ast.Module:
    """Parse the compiled text, and give its tree the lines of the source, for `compile` and tracebacks."""
    assert compilation.output is not None, "a file with errors has no tree"
    source = compilation.source
    compiled = SourceFile(source.path, compilation.output)
    spans = [
        (block.line, block.start - source.starts[block.line - 1], len(block.literal.split()[0]))
        for block in compilation.blocks
    ]
    markers = [
        (line, column, column + width)
        for line, column, width in (
            (line, len(source.line(line)[:column].encode()), width) for line, column, width in spans
        )
    ]
    return remap(parse_quietly(compiled.text), compilation.line_map, markers)
