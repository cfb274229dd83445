"""A file with holes, and the checks for a hole's code: alone, and compiled in its place.

make_static_file(unit, source, options)    StaticFile(holes=(...), ...), or None without holes
file.make_code_check(hole)(code)           ("`limit` is read-only in this block: ...",)
file.place_code(hole, code)                the WrittenBlock that takes the block's place
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Sequence

from njc.compiler.codegen.lower import WrittenBlock, choose_aliases
from njc.compiler.codegen.output_types import find_output_types
from njc.compiler.compiler import Analysis, Compilation, analyze, generate
from njc.compiler.frontend.diagnostics import make_diagnostic
from njc.compiler.frontend.name_resolution import collect_bindings
from njc.compiler.frontend.parse import can_be_static, can_hold_blocks
from njc.compiler.frontend.source import SourceFile
from njc.project.build import Finding
from njc.project.units import Unit
from njc.static.cases import read_shown_cases
from njc.static.code_checks import find_code_refusals
from njc.static.generate import CodeCheck
from njc.static.holes import Hole, find_holes
from njc.static.splice import place_contained_code, place_static_code
from njrt.data.options import Options
from njrt.data.records import record, replace


@record
class StaticFile:
    """A file with blocks to be replaced with code."""

    unit: Unit
    analysis: Analysis
    holes: tuple[Hole, ...]
    project: Options

    @property
    def source(self) -> SourceFile:
        """The file's text."""
        return self.analysis.source

    def compile(self, written: Sequence[WrittenBlock], note: str = "") -> Compilation:
        """Compile the file with some of its blocks replaced with code."""
        return generate(self.analysis, project=self.project, written=written, note=note)

    def make_finding(self, hole: Hole, code: str, message: str, hint: str) -> Finding:
        """Return a finding about a hole, located at the head of its block."""
        diagnostic = make_diagnostic(self.source, code, *hole.block.head, message, hint)
        return Finding(replace(diagnostic, path=self.unit.display_path), self.source)

    def find_mode_problems(self) -> list[Finding]:
        """Return the errors of blocks of the mode `reviewed` that can have no code."""
        if not any(hole.needs_review for hole in self.holes):
            return []
        return [
            Finding(replace(found, path=self.unit.display_path), self.source)
            for found in self.compile(()).diagnostics
            if found.code == "NJ405"
        ]

    def make_code_check(self, hole: Hole, *, is_locked: bool = False) -> CodeCheck:
        """Return a hole's checks; locked code is compiled together with other holes' code."""

        def in_place(code: str) -> str | None:
            if names := find_taken_names_of(code, hole):
                listed = "`, `".join(names)
                return f"choose other names than `{listed}`: the program around it uses them"
            if is_locked:
                return None
            placed = self.place_code(hole, code, is_inline=True)
            return find_compile_problem(self.compile([placed]))

        def check(code: str) -> tuple[str, ...]:
            if found := _CONTROL_CHARACTER.search(code):
                return (f"the code contains the character {found[0]!r}; write it as an escape",)
            return find_code_refusals(code, hole, self.analysis.types, in_place)

        return check

    def place_code(self, hole: Hole, code: str, *, is_inline: bool = False) -> WrittenBlock:
        """Put code in its place; with `is_inline`, even that of a contained block."""
        runtime = choose_aliases(self.source.text).runtime
        if hole.options.policy == "contained" and not is_inline:
            return place_contained_code(code, hole, self.project, runtime)
        types = find_output_types(hole.block, (), self.analysis.types)
        return place_static_code(code, hole, self.project, runtime, types)


def make_static_file(unit: Unit, source: SourceFile, project: Options) -> StaticFile | None:
    """Find a file's holes; None if it has none, or cannot be compiled anyway."""
    if not (can_hold_blocks(source.data) and can_be_static(source.data, project.mode)):
        return None
    analysis = analyze(source)
    if analysis.module is None or analysis.has_errors:
        return None
    holes = tuple(
        replace(hole, cases=read_shown_cases(unit.source, hole.name))
        for hole in find_holes(analysis.module, analysis.blocks, analysis.types, project)
    )
    return StaticFile(unit, analysis, holes, project) if holes else None


_CONTROL_CHARACTER = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
"""Python ends a line at some of these, and restarts the indentation at others."""


def find_compile_problem(compilation: Compilation) -> str | None:
    """Return why a file does not compile with its blocks replaced with code; None if it does."""
    if compilation.output is not None:
        return None
    messages = "; ".join(diagnostic.message for diagnostic in compilation.diagnostics)
    return f"in its place in the program: {messages}"


def find_taken_names_of(code: str, hole: Hole) -> list[str]:
    """Return the code's own names that mean something else around it.

    Among them are the compiled file's names, and builtins, which other code in the scope may use.
    """
    own = collect_bindings(ast.parse(code), None).bound - {*hole.block.binds, *hole.visible}
    return sorted(
        name
        for name in own
        if name in hole.taken_here or name.startswith("_nj") or hasattr(builtins, name)
    )
