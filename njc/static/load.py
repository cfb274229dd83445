"""Compile a file in memory, like `njc build --locked`, for imports, `njc run` and the debugger.

    load_code(Path("mail.njpy"), data, project)   ->   code, warnings

Compiled files are neither read nor written, so the code is never out of date. Static blocks have
their code of `njc.lock`. NJC_MODE in the environment replaces the mode of the project; with `live`,
all blocks run live.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING

from njc.compiler.compiler import parse_compiled_tree
from njc.compiler.frontend.parse import can_be_static, compile_tree
from njc.compiler.frontend.source import SourceFile
from njc.project.build import CompileTask, Finding, NaturalSyntaxError, collect_findings
from njc.project.config import Project, get_lock_path
from njc.project.units import Unit, make_unit
from njrt.data.options import make_options, merge_option_layers
from njrt.data.records import replace

if TYPE_CHECKING:
    from njc.compiler.compiler import Compilation


def load_code(
    file: Path, data: bytes, project: Project, environ: Mapping[str, str] = os.environ
) -> tuple[CodeType, tuple[Finding, ...]]:
    """Compile the source `data` of `file`; return code and warnings, or raise NaturalSyntaxError.

    Tracebacks, coverage and breakpoints of the code refer to the lines of `file`.
    """
    if mode := environ.get("NJC_MODE"):
        chosen = make_options({"mode": mode}, "NJC_MODE")
        project = replace(project, options=merge_option_layers(chosen, project.options))
    unit = make_unit(file, project)
    source = SourceFile(unit.path, data)
    task = CompileTask(unit, source, project.options)
    compilation, problems = _place_locked_code(unit, source, project, environ)
    if problems:
        error = NaturalSyntaxError(str(unit.source), problems)
        error.add_note(f"{problems[0].diagnostic.hint}, or run all blocks live with NJC_MODE=live")
        raise error
    compilation = compilation or task.compile()
    findings = collect_findings([task.make_result(compilation)], project.warnings)
    if any(finding.is_error for finding in findings):
        raise NaturalSyntaxError(str(unit.source), findings)
    return compile_tree(parse_compiled_tree(compilation), str(unit.source)), findings


def _place_locked_code(
    unit: Unit, source: SourceFile, project: Project, environ: Mapping[str, str]
) -> tuple[Compilation | None, Sequence[Finding]]:
    """Return the file with its static blocks' locked code, or findings; nothing if it has none."""
    if not can_be_static(source.data, project.options.mode) or environ.get("NJC_MODE") == "live":
        return None, ()
    # Imported here, because most files have no static blocks.
    from njc.static.build import HoleRequest, fill_holes
    from njc.static.fit import make_static_file
    from njc.static.lock import read_lock

    static = make_static_file(unit, source, project.options)
    if static is None:
        return None, ()
    lock = read_lock(get_lock_path(project, unit.root))
    build = fill_holes([static], lock, HoleRequest(locked=True))
    return build.compiled.get(unit), build.findings
