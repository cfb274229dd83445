"""The compiler on one screen.

    SourceFile  ->  Module  ->  [NaturalBlock]  ->  [LoweredBlock]  ->  [Piece]  ->  bytes
                              └──────────────────  [Diagnostic]

`compile_source` calls `analyze`, which finds the blocks and the diagnostics, and then `generate`;
`check_source` generates nothing. They are pure functions: they read no files, clock or environment,
and give the same bytes for the same source on every platform and Python version.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, repeat

from njc import __version__
from njc.compiler.analysis.ahead import find_ahead_findings
from njc.compiler.analysis.authority import Authority, decide_authority
from njc.compiler.analysis.authority_findings import find_block_findings, find_code_hint
from njc.compiler.analysis.check import check
from njc.compiler.analysis.contracts import BlockContract, find_contract
from njc.compiler.analysis.inference import TypeReader
from njc.compiler.analysis.outputs import check_outputs
from njc.compiler.analysis.reviewed_mode import find_mode_problem, resolve_mode
from njc.compiler.analysis.unmarked import check_unmarked, may_have_unmarked
from njc.compiler.codegen.emit import emit, emit_without_blocks
from njc.compiler.codegen.header import FileHeader, format_closing_comment, make_header
from njc.compiler.codegen.linemap import LineMap, Piece, build_line_map, remap_tree
from njc.compiler.codegen.lower import (
    WrittenBlock,
    apply_written,
    choose_aliases,
    lower,
    serialize_written,
)
from njc.compiler.frontend.blocks import NaturalBlock, collect_block_outputs, find_blocks
from njc.compiler.frontend.diagnostics import Diagnostic
from njc.compiler.frontend.directives import (
    NO_DIRECTIVES,
    FileDirectives,
    filter_ignored,
    read_file_directives,
)
from njc.compiler.frontend.name_resolution import BlockOutputs
from njc.compiler.frontend.parse import (
    Module,
    can_hold_blocks,
    find_compile_error,
    make_syntax_diagnostic,
    parse,
    parse_quietly,
)
from njc.compiler.frontend.source import SourceFile
from njrt.data.options import NO_OPTIONS, Options, merge_option_layers
from njrt.data.records import record


@record
class Compilation:
    """The result of compiling a file; `output` is None after an error."""

    source: SourceFile
    blocks: tuple[NaturalBlock, ...]
    diagnostics: tuple[Diagnostic, ...]
    output: bytes | None
    line_map: LineMap
    authorities: tuple[Authority, ...] = ()
    """Each block's authority, in source order; empty if the analysis has errors."""
    contracts: tuple[BlockContract, ...] = ()
    """Each block's contract, likewise."""
    hints: tuple[Diagnostic, ...] = ()
    """Corrections that make a block bind the intended variable, or need no code."""


@dataclass(frozen=True)
class Analysis:
    """A file's analysis before code generation; `module` is None without blocks or valid Python."""

    source: SourceFile
    module: Module | None = None
    blocks: tuple[NaturalBlock, ...] = ()
    outputs: BlockOutputs = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()
    directives: FileDirectives = NO_DIRECTIVES

    @property
    def has_errors(self) -> bool:
        """Whether a diagnostic is an error."""
        return any(diagnostic.severity == "error" for diagnostic in self.diagnostics)

    @cached_property
    def types(self) -> TypeReader:
        """The types of the file."""
        return TypeReader(self.outputs, self.source.text, self.blocks)


def compile_source(
    source: SourceFile,
    *,
    project: Options = NO_OPTIONS,
    version: str = __version__,
    with_hints: bool = True,
) -> Compilation:
    """Compile a `.njpy` file and report all findings; a `.py` file is copied below the header."""
    analysis = analyze(source)
    return generate(analysis, project=project, version=version, with_hints=with_hints)


def check_source(
    source: SourceFile, *, project: Options = NO_OPTIONS, with_hints: bool = False
) -> Compilation:
    """Report all findings of a file; its compiled form is generated only if they need it."""
    analysis = analyze(source)
    module = analysis.module
    if module is None or analysis.has_errors or _find_error(module) is not None:
        return generate(analysis, project=project, with_hints=with_hints)
    return _check_blocks(analysis, project, with_hints)


def analyze(source: SourceFile) -> Analysis:
    """Parse a file; return its blocks and diagnostics."""
    has_marker = can_hold_blocks(source.data)
    if source.path.endswith(".py") or not (has_marker or may_have_unmarked(source.data)):
        return Analysis(source)
    if isinstance(module := parse(source), Diagnostic):
        return Analysis(source, diagnostics=(module,)) if has_marker else Analysis(source)
    directives = read_file_directives(module)
    found = list(find_blocks(module))
    blocks = tuple(block for block in found if isinstance(block, NaturalBlock))
    if directives.options != NO_OPTIONS:
        blocks = tuple(
            replace(block, options=merge_option_layers(block.options, directives.options))
            for block in blocks
        )
    outputs = collect_block_outputs(blocks)
    problems = [each for each in found if isinstance(each, Diagnostic)]
    problems += [*check_unmarked(module, found), *directives.problems]
    problems += [*check(module, blocks, outputs), *check_outputs(source, blocks)]
    diagnostics = tuple(sorted(set(filter_ignored(problems, source, directives, blocks))))
    if not has_marker:
        unmarked = (found for found in diagnostics if found.code == "NJ103")
        return Analysis(source, diagnostics=tuple(unmarked))
    return Analysis(source, module, blocks, outputs, diagnostics, directives)


def generate(
    analysis: Analysis,
    *,
    project: Options = NO_OPTIONS,
    version: str = __version__,
    written: Sequence[WrittenBlock] = (),
    note: str = "",
    with_hints: bool = True,
) -> Compilation:
    """Generate a file's compiled form; hints take a sixth of the time.

    `written` is code that replaces some blocks, `note` a line about it.
    """
    source, module, blocks = analysis.source, analysis.module, analysis.blocks
    if analysis.has_errors:
        diagnostics = analysis.diagnostics if module is None else _add_warnings(analysis, project)
        return Compilation(source, blocks, diagnostics, None, LineMap())
    added = serialize_written(source, written, note)
    header = make_header(source, project, version, added)
    if module is None:
        return _compile_without_blocks(source, header, analysis.diagnostics)
    checked = _check_blocks(analysis, project, with_hints)
    decided = (checked.blocks, checked.authorities, checked.contracts)
    aliases = choose_aliases(source.text)
    instead = {code.block.start: code for code in written}
    calls = lower(*decided, analysis.types, aliases, source.path, project)
    lowered = tuple(apply_written(call, instead.get(call.block.start)) for call in calls)
    pieces = emit(module, lowered, header, aliases.runtime, note)
    encoded = [piece.text.encode(source.encoding, _ENCODING_ERRORS) for piece in pieces]
    compilation = _add_output(checked, pieces, encoded)
    compilation = _reject_uncompilable(module, compilation, has_code=bool(written))
    if any(finding.severity == "error" for finding in checked.diagnostics):
        return replace(compilation, output=None, line_map=LineMap())
    return compilation


def _check_blocks(analysis: Analysis, project: Options, with_hints: bool) -> Compilation:
    """Decide what each block may do, and find what is wrong: a compilation without its output."""
    source, types = analysis.source, analysis.types
    blocks = tuple(resolve_mode(block, types, project) for block in analysis.blocks)
    authorities = tuple(decide_authority(block, types, project) for block in blocks)
    contracts = tuple(find_contract(source, block, types) for block in blocks)
    found: list[Diagnostic] = []
    for block, authority in zip(blocks, authorities, strict=True):
        found += find_block_findings(source, block, authority, types, project)
    found += find_ahead_findings(source, blocks, authorities, types, project)
    problems = map(find_mode_problem, repeat(source), analysis.blocks, blocks, authorities)
    found += filter(None, problems)
    kept = set(filter_ignored(found, source, analysis.directives, blocks))
    diagnostics = tuple(sorted((*analysis.diagnostics, *kept)))
    checked = Compilation(source, blocks, diagnostics, None, LineMap(), authorities, contracts)
    if not with_hints:
        return checked
    hints = chain.from_iterable(map(find_code_hint, repeat(source), blocks, authorities))
    gains = find_ahead_findings(source, blocks, authorities, types, project, True)
    return replace(checked, hints=(*hints, *gains))


def _add_warnings(analysis: Analysis, project: Options) -> tuple[Diagnostic, ...]:
    """Return a file's errors, and what else is found about blocks without an error."""
    wrong = {each.line for each in analysis.diagnostics if each.severity == "error"}
    sound = [it for it in analysis.blocks if wrong.isdisjoint(range(it.line, it.end_line + 1))]
    return _check_blocks(replace(analysis, blocks=tuple(sound)), project, False).diagnostics


def _reject_uncompilable(
    module: Module, compilation: Compilation, *, has_code: bool
) -> Compilation:
    """Reject a program that Python parses but does not compile, such as a stray `return`."""
    if not has_code and _find_error(module) is None:
        return compilation
    # A block may bind the name that a `nonlocal` declares, so the compiled file decides, as it does
    # about code that replaces a block.
    tree = parse_compiled_tree(compilation)
    error = find_compile_error(tree, is_cell=module.source.is_cell)
    if error is None:
        return compilation
    finding = make_syntax_diagnostic(module.source, error, counts_bytes=True)
    diagnostics = tuple(sorted((*compilation.diagnostics, finding)))
    return replace(compilation, diagnostics=diagnostics, output=None, line_map=LineMap())


def _find_error(module: Module) -> SyntaxError | None:
    return find_compile_error(module.tree, is_cell=module.source.is_cell)


def _compile_without_blocks(
    source: SourceFile, header: FileHeader, diagnostics: tuple[Diagnostic, ...]
) -> Compilation:
    """Compile a file without blocks; its bytes are kept, without decoding or parsing."""
    pieces = emit_without_blocks(replace(source, known_encoding="latin-1"), header)
    encodings = ("latin-1" if piece.is_authors else "ascii" for piece in pieces)
    encoded = [
        piece.text.encode(it, _ENCODING_ERRORS) for piece, it in zip(pieces, encodings, strict=True)
    ]
    return _add_output(Compilation(source, (), diagnostics, None, LineMap()), pieces, encoded)


_ENCODING_ERRORS = "backslashreplace"
"""The scaffold, such as a file's path, may not fit the encoding; the author's text always does."""


def _add_output(
    compilation: Compilation, pieces: Sequence[Piece], encoded: Sequence[bytes]
) -> Compilation:
    """Join the encoded pieces, and append the line map."""
    source, line_map = compilation.source, build_line_map(pieces)
    content = source.bom + b"".join(encoded)
    closing = format_closing_comment(str(line_map), content) + source.newline
    return replace(compilation, output=content + closing.encode(), line_map=line_map)


def parse_compiled_tree(compilation: Compilation) -> ast.Module:
    """Parse the compiled text and give its tree the source's lines for `compile` and tracebacks."""
    assert compilation.output is not None, "a file with errors has no tree"
    source = compilation.source
    compiled = replace(source, data=compilation.output)
    markers = []
    for block in compilation.blocks:
        column = len(source.text[source.line_starts[block.line - 1] : block.start].encode())
        markers.append((block.line, column, column + len(block.literal.split()[0])))
        line = source.line(block.end_line).rstrip()  # may have statements after a `;`
        rest = line[block.end - source.line_starts[block.end_line - 1] :].lstrip(" \t\f;").encode()
        width = len(line.encode())
        markers.append((block.end_line, width - len(rest), width))
    return remap_tree(parse_quietly(compiled.text), compilation.line_map, markers)
