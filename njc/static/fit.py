"""A file with holes, and the checks of code for one of them: on its own, and compiled in its place.

make_static_file(unit, source, options)     StaticFile(holes=(...), ...), or None without holes
make_code_check(file, hole)(code)           ("`limit` is read-only in this block: ...",)
place_code(file, hole, code, shapes)        the WrittenBlock that takes the block's place
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from njc.codegen.lower import WrittenBlock, choose_aliases
from njc.codegen.tuned import TunedBlock
from njc.compiler import Analysis, Compilation, analyze, generate
from njc.frontend.diagnostics import make_diagnostic
from njc.frontend.parse import can_hold_blocks, can_set_mode
from njc.frontend.source import SourceFile
from njc.project.build import Finding
from njc.project.units import Unit
from njc.static.checks.code import find_code_refusals
from njc.static.format import find_unrenamable_names, normalize_code
from njc.static.generate import CodeCheck
from njc.static.guards import find_annotated_shapes
from njc.static.holes import Hole, find_holes
from njc.static.splice import place_auto_code, place_contained_code, place_static_code
from njrt.options import Options

ShapesByName = Mapping[str, str]
_MARKER_LENGTH = len('"""natural')


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file with blocks that are to become code."""

    unit: Unit
    analysis: Analysis
    holes: tuple[Hole, ...]
    project: Options
    tuned: tuple[TunedBlock, ...] = ()

    @property
    def source(self) -> SourceFile:
        """The file's text."""
        return self.analysis.source

    @property
    def classes(self) -> Mapping[str, ast.ClassDef]:
        """The classes at the top of the file, by name."""
        assert self.analysis.module is not None
        body = self.analysis.module.tree.body
        return {node.name: node for node in body if isinstance(node, ast.ClassDef)}


def make_static_file(
    unit: Unit, source: SourceFile, project: Options, tuned: tuple[TunedBlock, ...] = ()
) -> StaticFile | None:
    """Find the holes of a file; None if there are none, or where it cannot be compiled anyway."""
    is_static = project.mode not in (None, "live")
    if not can_hold_blocks(source.data) or not (is_static or can_set_mode(source.data)):
        return None
    analysis = analyze(source)
    if analysis.module is None or analysis.has_errors:
        return None
    holes = tuple(find_holes(analysis.module, analysis.blocks, project))
    return StaticFile(unit, analysis, holes, project, tuned) if holes else None


def compile_static_file(
    file: StaticFile, written: Sequence[WrittenBlock], note: str = ""
) -> Compilation:
    """Compile a file with code in the place of some of its blocks."""
    return generate(
        file.analysis, project=file.project, tuned=file.tuned, written=written, note=note
    )


def make_hole_finding(file: StaticFile, hole: Hole, code: str, message: str, hint: str) -> Finding:
    """Return a finding about a hole, at the head of its block."""
    source, start = file.source, hole.block.start
    diagnostic = make_diagnostic(source, code, start, start + _MARKER_LENGTH, message, hint)
    return Finding(replace(diagnostic, path=file.unit.display_path), source)


def make_code_check(file: StaticFile, hole: Hole, *, is_locked: bool = False) -> CodeCheck:
    """Return the checks of a hole: all of them, or in the raw mode only that it is Python.

    Code that is locked has its final form; it is compiled with that of the other holes.
    """

    def in_place(code: str) -> str | None:
        if names := find_unrenamable_names(code, hole):
            return f"`{names[0]}` means something else in the program: choose another name"
        return find_compile_problem(
            compile_static_file(file, [_place_inline(file, hole, normalize_code(code, hole))])
        )

    def check(code: str) -> tuple[str, ...]:
        if hole.mode == "static-raw":
            return _find_syntax_errors(code)
        if not _find_syntax_errors(code) and needs_judgement(hole, code):
            return ()
        return find_code_refusals(
            code, hole, file.classes, (lambda code: None) if is_locked else in_place
        )

    return check


def place_code(
    file: StaticFile, hole: Hole, code: str, shapes: ShapesByName | None = None
) -> WrittenBlock:
    """Put code in its place; in the mode `auto` guarded by these shapes, or by those of the annotations."""
    if hole.options.policy == "contained":
        runtime = choose_aliases(file.source.text).runtime
        return place_contained_code(code, hole, file.project, runtime)
    return _place_inline(file, hole, code, shapes)


def _place_inline(
    file: StaticFile, hole: Hole, code: str, shapes: ShapesByName | None = None
) -> WrittenBlock:
    """Put code in its place as a part of the program."""
    runtime = choose_aliases(file.source.text).runtime
    if hole.mode == "auto":
        return place_auto_code(
            code, hole, runtime, shapes or find_annotated_shapes(hole, file.classes)
        )
    return place_static_code(code, hole, file.project, runtime)


def needs_judgement(hole: Hole, code: str) -> bool:
    """Return whether the code asks a model, which the mode `auto` leaves to the live block."""
    return hole.mode == "auto" and any(
        isinstance(node, ast.Name) and node.id == hole.helper for node in ast.walk(ast.parse(code))
    )


def _find_syntax_errors(code: str) -> tuple[str, ...]:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError) as error:
        return (f"not Python: {error}",)
    return ()


def find_compile_problem(compilation: Compilation) -> str | None:
    """Say why a file does not compile with code in the place of its blocks, if so."""
    if compilation.output is not None:
        return None
    messages = "; ".join(diagnostic.message for diagnostic in compilation.diagnostics)
    return f"in its place in the program: {messages}"
