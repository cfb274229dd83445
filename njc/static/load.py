"""Compile a file in memory, like `njc build --locked`, for imports, `njc run` and the debugger.

    load_code(Path("mail.njpy"), data, project)   ->   code, warnings

Compiled files are neither read nor written, so the code is never out of date. Static blocks have
their code of `njc.lock`. NJC_MODE in the environment replaces the mode of the project; with `live`,
all blocks run live.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import CodeType

from njc.compiler.compiler import parse_compiled_tree
from njc.compiler.frontend.parse import can_be_static, compile_tree
from njc.compiler.frontend.source import SourceFile
from njc.project.build import CompileTask, Finding, NaturalSyntaxError, collect_findings
from njc.project.config import Project
from njc.project.units import make_unit
from njrt.data.options import make_options, merge_option_layers
from njrt.data.records import replace


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
    compilation = None
    if mode != "live" and can_be_static(data, project.options.mode):
        # Imported here, because most files have no static blocks.
        from njc.static.write import fill_sources

        build = fill_sources({unit: source}, project)
        if found := build.findings:
            error = NaturalSyntaxError(str(unit.source), found)
            error.add_note(f"{found[0].diagnostic.hint}, or run all blocks live with NJC_MODE=live")
            raise error
        compilation = build.compiled.get(unit)
    compilation = compilation or task.compile()
    findings = collect_findings([task.make_result(compilation)], project.warnings)
    if any(finding.is_error for finding in findings):
        raise NaturalSyntaxError(str(unit.source), findings)
    return compile_tree(parse_compiled_tree(compilation), str(unit.source)), findings
