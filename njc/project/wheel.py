"""Compiled files for a wheel, for any build backend.

    {"shop/mail.njpy": /project/src/shop/mail.njpy}   ->  {"shop/mail.py": b"# compiled by njc ..."}

The bytes depend only on the sources, the project file and njc.lock: no model is called, and no
environment variables are read. At run time, the wheel requires only the distribution njpy-runtime,
not njpy.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from njc.compiler.frontend.diagnostics import render_diagnostic
from njc.project.build import Compilations, CompileTask, Finding, read_source
from njc.project.config import Project, find_project
from njc.project.units import Unit, make_unit
from njrt.errors import ConfigurationError

StaticFilling = Callable[[Sequence[Unit], Project], tuple[Compilations, Sequence[Finding]]]
"""Compiles the sources with static blocks, or returns findings."""


def compile_wheel_files(
    sources: Mapping[str, Path], project_root: Path, fill: StaticFilling
) -> dict[str, bytes]:
    """Compile a wheel's sources, given as paths in it; raise ConfigurationError with all errors."""
    project = find_project(project_root, environ={})
    files = {path: Path(os.path.abspath(file)) for path, file in sorted(sources.items())}
    if not project.src:
        roots = {file.parents[path.count("/")] for path, file in files.items()}
        project = replace(project, src=tuple(sorted(roots, reverse=True)))
    units = {path: make_unit(file, project) for path, file in files.items()}
    filled, findings = fill([*units.values()], project) if units else ({}, ())
    problems = [render_diagnostic(found.diagnostic, found.source) for found in findings]
    compiled: dict[str, bytes] = {}
    for path, unit in units.items():
        unit.refuse_hidden_source()
        task = CompileTask(unit, read_source(unit), project.options)
        done = task.make_result(filled.get(unit) or task.compile())
        if done.output is None:
            problems += [render_diagnostic(found, task.source) for found in done.diagnostics]
        else:
            compiled[PurePosixPath(path).with_suffix(".py").as_posix()] = done.output
    if problems:
        raise ConfigurationError("\n\n".join(problems))
    return compiled
