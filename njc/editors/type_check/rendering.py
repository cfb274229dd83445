'''A source as a type checker sees it: each reference is an expression, each output an assignment.

        """natural                               if _nj.bool(): break
        Answer <query.text>, and save a          _nj.print(query.text); response: str = _nj.eval("")
        <:response: str>. Break at the end.
        """

This text is never run. A block is on one line, except for its jumps and an f-string's literal, so
that a comment after it (`# type: ignore`) applies to it. Not detected: the model's code, and
references with the root `__class__`.'''

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from njc.analysis.authority import decide_authority
from njc.analysis.contracts import NO_CONTRACT
from njc.codegen.emit import BlockSite, find_block_site, find_import_place
from njc.codegen.lower import Aliases, LoweredBlock, choose_aliases, lower
from njc.compiler import Analysis
from njc.frontend.blocks import NaturalBlock
from njc.frontend.name_resolution import list_suites
from njc.frontend.prompt_references import PATH, Reference
from njc.frontend.source import SourceFile
from njrt.options import Options
from njrt.records import record

_PATH = re.compile(PATH)


@record
class RenderedPiece:
    """A piece of the rendered text, and its range in the source."""

    text: str
    start: int
    end: int
    is_authors: bool
    """Whether the text is identical to the range, character by character."""


@dataclass(frozen=True)
class RenderedSource:
    """A source and its text for the checker."""

    source: SourceFile
    pieces: tuple[RenderedPiece, ...]

    @cached_property
    def rendered(self) -> SourceFile:
        """The text for the checker, as a file in the source's encoding."""
        text = "".join(piece.text for piece in self.pieces)
        data = self.source.bom + text.encode(self.source.encoding, "backslashreplace")
        return SourceFile(self.source.path, data)

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        starts, position = [], 0
        for piece in self.pieces:
            starts.append(position)
            position += len(piece.text)
        return tuple(starts)

    def find_source_offset(self, offset: int, *, is_end: bool = False) -> int:
        """Return the source offset for a rendered offset; `is_end` if a range ends before it."""
        if not self.pieces:
            return 0
        index = bisect_right(self._starts, max(offset - is_end, 0)) - 1
        piece = self.pieces[index]
        if piece.is_authors:
            return min(piece.start + offset - self._starts[index], piece.end)
        return piece.end if is_end else piece.start

    def starts_piece(self, offset: int) -> bool:
        """Return whether a reference, a type or other source text starts at a rendered offset."""
        index = bisect_right(self._starts, offset) - 1
        return self._starts[index] == offset and self.pieces[index].is_authors


def render_for_checker(analysis: Analysis, project: Options) -> RenderedSource:
    """Render a source for the checker; a source that cannot be compiled is left unchanged."""
    source, module, blocks = analysis.source, analysis.module, analysis.blocks
    if module is None or not blocks:
        return RenderedSource(source, tuple(_list_pieces(source, [])))
    types = analysis.types
    authorities = [decide_authority(block, types, project) for block in blocks]
    aliases = choose_aliases(source.text)
    imports = [f"import builtins as {aliases.runtime}, typing as {aliases.returned}"]
    at, line = find_import_place(module, blocks[0].start, imports)
    edits = [(at, at, [RenderedPiece(line, at, at, False)])]
    starts = {block.start for block in blocks}
    declared: set[str] = set()
    contracts = [NO_CONTRACT] * len(blocks)
    for lowered in lower(blocks, authorities, contracts, types, aliases, source.path, project):
        site = find_block_site(source, lowered.block, starts)
        lowered = _declare_globals(lowered, declared)
        pieces = list(_render_block(source, lowered, site, aliases))
        edits.append((site.start, site.end, pieces))
    return RenderedSource(source, tuple(_list_pieces(source, edits)))


def _declare_globals(lowered: LoweredBlock, declared: set[str]) -> LoweredBlock:
    """Declare a module's typed outputs that only blocks bind, so other modules see their types."""
    scope = lowered.block.scope
    if scope.kind != "module":
        return lowered
    types = {
        reference.path: reference.type
        for reference in reversed(lowered.block.references)
        if reference.writes and reference.type and not reference.is_dotted
    }
    fresh = [name for name in types if name not in declared | scope.bindings.bound]
    declared.update(lowered.block.binds)
    return replace(lowered, declarations=tuple(f"{name}: {types[name]}" for name in fresh))


def _list_pieces(
    source: SourceFile, edits: Iterable[tuple[int, int, Sequence[RenderedPiece]]]
) -> Iterator[RenderedPiece]:
    """Cut the source at the edits, and yield the pieces of both in order."""
    position = 0
    for start, end, pieces in sorted(edits, key=lambda edit: edit[0]):
        yield from _copy_range(source, position, start)
        yield from pieces
        position = end
    yield from _copy_range(source, position, len(source.text))


def _copy_range(source: SourceFile, start: int, end: int) -> Iterator[RenderedPiece]:
    if end > start:
        yield RenderedPiece(source.text[start:end], start, end, True)


def _render_block(
    source: SourceFile, lowered: LoweredBlock, site: BlockSite, aliases: Aliases
) -> Iterator[RenderedPiece]:
    """Render a block: one line for each jump, then its reads and outputs on one line."""
    block = lowered.block
    marker = (block.start, block.start + len(block.literal.split()[0]))
    # The returned value has a type that any function may return.
    typing = aliases.returned
    value = f"return {typing}.cast({typing}.NoReturn, {aliases.runtime}.eval(''))"
    arms = (statement for _, statement in lowered.arms)
    jumps = [value if jump.endswith(".value") else jump for jump in arms]
    certain = [jump for jump in jumps if jump.startswith("return") and _ends_function(block)]
    yield RenderedPiece(site.before, *marker, False)
    for jump in jumps:
        if jump not in certain:
            line = f"if {aliases.runtime}.bool(): {jump}{site.newline}{site.indent}"
            yield RenderedPiece(line, *marker, False)
    statements = list(_render_references(source, lowered, aliases))
    statements += [[RenderedPiece(jump, *marker, False)] for jump in certain]
    for number, statement in enumerate(statements or [[RenderedPiece("pass", *marker, False)]]):
        if number:
            yield RenderedPiece("; ", statement[0].start, statement[0].start, False)
        yield from statement
    if site.after:
        yield RenderedPiece(site.after, block.end, block.end, False)


def _ends_function(block: NaturalBlock) -> bool:
    """Return whether a block ends its function, so that a block that may return must do so."""
    waiting = [block.scope.node.body] if block.scope.is_function else []
    while waiting:
        last = waiting.pop()[-1:]
        for statement in last:
            if isinstance(statement, ast.Expr) and statement.lineno == block.line:
                return True
            if isinstance(statement, ast.If | ast.With | ast.AsyncWith | ast.Match):
                waiting += list_suites(statement)
            elif isinstance(statement, ast.Try):
                waiting += [handler.body for handler in statement.handlers]
                waiting.append(statement.orelse or statement.body)
    return False


def _render_references(
    source: SourceFile, lowered: LoweredBlock, aliases: Aliases
) -> Iterator[list[RenderedPiece]]:
    """Yield a statement for the reads, one for each output, and one for the reads of outputs."""
    block = lowered.block
    references = [reference for reference in block.references if reference.root != "__class__"]
    reads = [reference for reference in references if not reference.writes]
    bound = set(block.binds)
    above = [(block.start, block.end)] if block.is_fstring else []
    above += [(block.interface.start, block.interface.end)] if block.interface else []
    first = [reference for reference in reads if reference.root not in bound]
    paths = [_find_path(source, reference) for reference in first]
    yield from _render_reads(source, above + paths, aliases)
    # Declarations in class bodies are loops, and have no type.
    parts = (text.partition(": ") for text in lowered.declarations)
    declared = {name: type_ for name, colon, type_ in parts if colon}
    written: set[str] = set()
    for reference in references:
        if reference.writes and (reference.type or reference.path not in written):
            annotation = declared.pop(reference.path, None)
            yield _render_output(source, reference, annotation, aliases)
            written.add(reference.path)
    last = [reference for reference in reads if reference.root in bound]
    paths = [_find_path(source, reference) for reference in last]
    yield from _render_reads(source, paths, aliases)


def _render_reads(
    source: SourceFile, ranges: Sequence[tuple[int, int]], aliases: Aliases
) -> Iterator[list[RenderedPiece]]:
    """Yield a call of `print`: it takes any type, and checkers do not report its dropped result."""
    if not ranges:
        return
    opening, closing = f"{aliases.runtime}.print(", ")"
    pieces = []
    for number, (start, end) in enumerate(ranges):
        pieces.append(RenderedPiece(", " if number else opening, start, start, False))
        pieces.append(RenderedPiece(source.text[start:end], start, end, True))
    yield [*pieces, RenderedPiece(closing, end, end, False)]


def _render_output(
    source: SourceFile, reference: Reference, declared: str | None, aliases: Aliases
) -> list[RenderedPiece]:
    """Return `count: int = ...` if the variable is declared, else `count = cast(int, ...)`."""
    start, end = _find_path(source, reference)
    path = RenderedPiece(source.text[start:end], start, end, True)
    value = f"{aliases.runtime}.eval('')"
    if reference.type is None:
        is_typed = declared is not None and declared != f"{aliases.runtime}.Any"
        annotation = f": {declared}" if is_typed else ""
        return [path, RenderedPiece(f"{annotation} = {value}", start, end, False)]
    above, below = f" = {aliases.returned}.cast(", f", {value})"
    if declared is not None:
        above, below = ": ", f" = {value}"
    before, after = (RenderedPiece(text, start, end, False) for text in (above, below))
    # The type as its author spells it, or on one line if it spans several.
    start, end = source.text.index(":", end) + 1, reference.end - 1
    written = source.text[start:end]
    start, end = end - len(written.lstrip()), start + len(written.rstrip())
    is_long = "\n" in written or "\r" in written
    shown = (reference.type or "") if is_long else source.text[start:end]
    return [path, before, RenderedPiece(shown, start, end, not is_long), after]


def _find_path(source: SourceFile, reference: Reference) -> tuple[int, int]:
    """Return the range of the path within `<:path: TYPE>`."""
    start = reference.start + 1 + reference.writes
    found = _PATH.match(source.text, start)
    assert found, "a reference has a path"
    return found.span()
