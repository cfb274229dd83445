"""Compiling a `.njpy` file in memory.

    load_code(Path("mail.njpy"), data, project)     a code object; its tracebacks, coverage and
                                                    breakpoints refer to the lines of mail.njpy

Compiled files are neither read nor written, so the code is never out of date.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import CodeType

from njc.compiler import parse_compiled_tree
from njc.frontend.parse import compile_tree
from njc.frontend.source import SourceFile
from njc.project.build import (
    Finding,
    collect_findings,
    compile_task,
    is_error,
    make_compile_result,
    make_compile_task,
)
from njc.project.config import Project
from njc.project.units import make_unit


class NaturalSyntaxError(SyntaxError):
    """A `.njpy` file has errors: `findings` has all of them, the message is from the first."""

    def __init__(self, file: str, findings: Sequence[Finding]) -> None:
        first = next(filter(is_error, findings))
        diagnostic = first.diagnostic
        line = None if diagnostic.code == "NJ002" else first.source.line(diagnostic.line)
        end = diagnostic.end_line, diagnostic.end_column
        place = (file, diagnostic.line, diagnostic.column, line, *end)
        super().__init__(f"{diagnostic.message} [{diagnostic.code}]", place)
        self.findings = tuple(findings)


def load_code(file: Path, data: bytes, project: Project) -> tuple[CodeType, tuple[Finding, ...]]:
    """Compile the source `data` of `file`; return code and warnings, or raise NaturalSyntaxError."""
    unit = make_unit(file, project)
    task = make_compile_task(unit, SourceFile(unit.path, data), project)
    compilation = compile_task(task)
    findings = collect_findings([make_compile_result(task, compilation)], project.warnings)
    if any(map(is_error, findings)):
        raise NaturalSyntaxError(str(unit.source), findings)
    return compile_tree(parse_compiled_tree(compilation), str(unit.source)), findings
