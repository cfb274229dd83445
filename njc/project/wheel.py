"""Compiled files for a wheel, whatever tool builds it.

    {"shop/mail.njpy": /project/src/shop/mail.njpy}   ->   {"shop/mail.py": b"# compiled by njc ..."}

The bytes depend on the sources and the project file only: no model is called, and environment variables
are not read. At run time the wheel needs the distribution njpy-runtime, and not njpy.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from njc.compiler import compile_source
from njc.frontend.diagnostics import render_diagnostic
from njc.frontend.source import SourceFile
from njc.project.config import find_project
from njc.project.tuned import find_tuned_blocks
from njc.project.units import make_unit, refuse_hidden_source


class WheelCompileError(Exception):
    """Sources of the wheel have errors; the message shows all of them."""


def compile_wheel_files(sources: Mapping[str, Path], project_root: Path) -> dict[str, bytes]:
    """Compile the sources of a wheel, by their paths in it; raise WheelCompileError on errors."""
    project = find_project(project_root, environ={})
    compiled: dict[str, bytes] = {}
    problems: list[str] = []
    for path, file in sorted(sources.items()):
        source = SourceFile(path, file.read_bytes())
        refuse_hidden_source(unit := make_unit(file, project))
        tuned = find_tuned_blocks(unit, project, environ={})
        compilation = compile_source(source, project=project.options, tuned=tuned)
        if compilation.output is None:
            problems += [render_diagnostic(found, source) for found in compilation.diagnostics]
        else:
            compiled[PurePosixPath(path).with_suffix(".py").as_posix()] = compilation.output
    if problems:
        raise WheelCompileError("\n\n".join(problems))
    return compiled
