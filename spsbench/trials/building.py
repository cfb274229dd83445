"""Builds the program of a trial for its method.

manual                  manual.py, as it is
direct, baseline, ...   natural.njpy, compiled (rewritten: rewritten.njpy)
static, auto, ...       natural.njpy, its blocks written by a model; the lock stays in the folder

    build_program("menu", METHODS["static"], folder)     the module; NotBuiltError if no code was accepted
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from njc.compiler import compile_source
from njc.frontend.source import SourceFile
from njc.project.config import Project
from njc.project.units import SUFFIX, make_unit
from njrt.options import Options
from spsbench.methods import Method
from spsbench.suite import (
    PROGRAMS_PACKAGE,
    load_manual_program,
    load_natural_program,
    make_program_module,
    read_program_source,
)


class NotBuiltError(Exception):
    """A static mode has no code for a block."""


def build_program(program: str, method: Method, folder: Path) -> ModuleType:
    """Return a program's module; in the static modes the model of `njrt.using` writes code for it."""
    if not method.is_natural:
        return load_manual_program(program)
    return (
        _build_static_program(program, method, folder)
        if method.is_static
        else load_natural_program(program, method.compile_options, method.file)
    )


def _build_static_program(program: str, method: Method, folder: Path) -> ModuleType:
    from njc.static.files import fill_units

    file = folder / program / f"natural{SUFFIX}"
    file.parent.mkdir(parents=True)
    file.write_text(read_program_source(program, "natural.njpy"), encoding="utf-8")
    project = Project(src=(folder,), options=Options(mode=method.mode))
    unit = make_unit(file, project)
    build = fill_units([unit], project)
    if build.findings:
        raise NotBuiltError("; ".join(finding.diagnostic.message for finding in build.findings))
    compilation = build.compiled.get(unit) or compile_source(
        SourceFile(unit.path, file.read_bytes()), project=project.options
    )
    if compilation.output is None:
        raise NotBuiltError("; ".join(found.message for found in compilation.diagnostics))
    try:
        return make_program_module(
            f"{PROGRAMS_PACKAGE}.{program}.natural", compilation.output, unit.path
        )
    except Exception as error:
        raise NotBuiltError(f"{type(error).__name__}: {error}") from error
