"""A file with holes, and whether code fits into one of them: checked on its own, and compiled in its place.

make_static_file(unit, source, options)      StaticFile(holes=(...), ...), or None where nothing is to be filled
make_code_check(file, hole)(code)              ("`limit` is read-only in this block: ...",)
put(file, hole, code, shapes)            the WrittenBlock that takes the block's place
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace

from njc.codegen.lower import WrittenBlock, choose_aliases
from njc.compiler import compile_source
from njc.frontend.blocks import NaturalBlock
from njc.frontend.diagnostics import make_diagnostic
from njc.frontend.parse import Module, can_hold_blocks, parse
from njc.frontend.source import SourceFile
from njc.project.build import Finding
from njc.project.units import Unit
from njc.static.checks.code import find_code_refusals
from njc.static.format import find_unrenamable_names, normalize_code
from njc.static.generate import CodeCheck
from njc.static.guards import find_annotated_shapes
from njc.static.holes import Hole, find_holes
from njc.static.splice import place_auto_code, place_static_code
from njrt.options import Options

ShapesByName = Mapping[str, str]
_MARKER_LENGTH = len('"""natural')


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file with blocks that are to become code."""

    unit: Unit
    module: Module
    blocks: tuple[NaturalBlock, ...]
    holes: tuple[Hole, ...]
    project: Options

    @property
    def classes(self) -> Mapping[str, ast.ClassDef]:
        """The classes at the top of the file, by name."""
        return {
            statement.name: statement
            for statement in self.module.tree.body
            if isinstance(statement, ast.ClassDef)
        }


def make_static_file(unit: Unit, source: SourceFile, project: Options) -> StaticFile | None:
    """Find the holes of a file; None where there are none, or where it cannot be compiled anyway."""
    is_static = project.mode not in (None, "live")
    if not can_hold_blocks(source.data) or not (is_static or b"mode" in source.data):
        return None
    compilation = compile_source(source, project=project)
    module = parse(source)
    if compilation.output is None or not isinstance(module, Module):
        return None
    holes = tuple(find_holes(module, compilation.blocks, project))
    return StaticFile(unit, module, compilation.blocks, holes, project) if holes else None


def make_hole_finding(file: StaticFile, hole: Hole, code: str, message: str, hint: str) -> Finding:
    """A finding about a hole, at the head of its block."""
    source, start = file.module.source, hole.block.start
    diagnostic = make_diagnostic(source, code, start, start + _MARKER_LENGTH, message, hint)
    return Finding(replace(diagnostic, path=file.unit.display_path), source)


def make_code_check(file: StaticFile, hole: Hole, *, settle: bool = True) -> CodeCheck:
    """The checks of a hole: all of them, or in the raw mode only that it is Python."""

    def in_place(code: str) -> str | None:
        if settle and (names := find_unrenamable_names(code, hole)):
            return f"`{names[0]}` means something else in the program around: choose another name"
        return _check_in_place(file, hole, normalize_code(code, hole) if settle else code)

    def check(code: str) -> tuple[str, ...]:
        if hole.mode == "static-raw":
            return _find_syntax_errors(code)
        if not _find_syntax_errors(code) and needs_judgement(hole, code):
            return ()
        return find_code_refusals(code, hole, file.classes, in_place)

    return check


def place_code(
    file: StaticFile, hole: Hole, code: str, shapes: ShapesByName | None = None
) -> WrittenBlock:
    """Put code in its place; in the mode `auto`, for values of these shapes, or as annotations have them."""
    runtime = choose_aliases(file.module.source.text).runtime
    if hole.mode == "auto":
        return place_auto_code(
            code, hole, runtime, shapes or find_annotated_shapes(hole, file.classes)
        )
    return place_static_code(code, hole, file.project, runtime)


def needs_judgement(hole: Hole, code: str) -> bool:
    """Whether the code would ask a model: what needs judgement is left to the live block."""
    return hole.mode == "auto" and any(
        isinstance(node, ast.Name) and node.id == hole.helper for node in ast.walk(ast.parse(code))
    )


def _find_syntax_errors(code: str) -> tuple[str, ...]:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError) as error:
        return (f"not Python: {error}",)
    return ()


def _check_in_place(file: StaticFile, hole: Hole, code: str) -> str | None:
    """Compile the whole file with the code in its place."""
    source = file.module.source
    compilation = compile_source(
        source, project=file.project, written=[place_code(file, hole, code)]
    )
    if compilation.output is None:
        return "; ".join(diagnostic.message for diagnostic in compilation.diagnostics)
    text = compilation.output.decode(source.encoding)
    try:
        compile(text, source.path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        line = (getattr(error, "text", None) or "").strip()
        message = getattr(error, "msg", None) or str(error)
        return f"in its place in the program: {message}{f': `{line}`' if line else ''}"
    return None
