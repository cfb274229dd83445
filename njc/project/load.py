"""Compiling a `.njpy` file in memory, into code whose places are those of the source.

    code_of(Path("mail.njpy"), project)     a code object; its tracebacks, its coverage and its
                                            breakpoints name the lines of mail.njpy

Nothing is read from a compiled file and nothing is written, so no stale file can ever be run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import CodeType

from njc.compiler import compile_source, parse_compiled_tree
from njc.frontend.source import SourceFile
from njc.project.build import CompileTask, Finding, collect_findings, is_error, make_compile_result
from njc.project.config import Project
from njc.project.units import make_unit


class NaturalSyntaxError(SyntaxError):
    """A `.njpy` file has errors; `findings` are all of them, and the first gives the message."""

    def __init__(self, file: str, findings: Sequence[Finding]) -> None:
        first = next(filter(is_error, findings))
        found, line = first.diagnostic, None
        if found.code != "NJ002":
            line = first.source.line(found.line)
        place = (file, found.line, found.column, line, found.end_line, found.end_column)
        super().__init__(f"{found.message} [{found.code}]", place)
        self.findings = tuple(findings)


def load_code(file: Path, data: bytes, project: Project) -> tuple[CodeType, tuple[Finding, ...]]:
    """Compile the source `data` of `file`; return its code, and the warnings.

    Raises NaturalSyntaxError where there are errors.
    """
    unit = make_unit(file, project)
    task = CompileTask(unit, SourceFile(unit.path, data), project.options, thorough=True)
    compilation = compile_source(task.source, project=task.options)
    findings = collect_findings([make_compile_result(task, compilation)], project.warnings)
    if any(map(is_error, findings)):
        raise NaturalSyntaxError(str(unit.source), findings)
    tree = parse_compiled_tree(compilation)
    return compile(tree, str(unit.source), "exec", dont_inherit=True), findings
