"""The line of the source for a line of a compiled file, and the reverse.

find_counterpart(Path("out/mail.py"), 41, project)       (src/mail.njpy, 37)
find_counterpart(Path("src/mail.njpy"), 37, project)     (out/mail.py, 41)
"""

from __future__ import annotations

from pathlib import Path

from njc.codegen.header import parse_header
from njc.codegen.linemap import find_compiled_line, find_source_line, parse_line_map
from njc.project.build import compile_task, make_compile_task, read_source
from njc.project.config import Project
from njc.project.units import SUFFIX, find_units, format_path, read_file
from njrt.errors import ConfigurationError


def find_counterpart(file: Path, line: int, project: Project) -> tuple[Path, int]:
    """Find the source of a line of a compiled file, or the compiled line of a line of a source.

    Raises ConfigurationError if the file is neither, or does not exist.
    """
    if file.suffix == SUFFIX:
        return _find_compiled_place(file, line, project)
    return _find_source_place(file, line, project)


def _find_compiled_place(file: Path, line: int, project: Project) -> tuple[Path, int]:
    (unit,) = find_units([file], project)
    compilation = compile_task(make_compile_task(unit, read_source(unit), project))
    if compilation.output is None:
        raise ConfigurationError(
            f"{format_path(file)} has errors; `njc check {format_path(file)}` shows them"
        )
    return unit.output, find_compiled_line(compilation.line_map, line)


def _find_source_place(file: Path, line: int, project: Project) -> tuple[Path, int]:
    data = read_file(file)
    header, line_map = parse_header(data), parse_line_map(data)
    if header is None or line_map is None:
        raise ConfigurationError(f"{format_path(file)} was not compiled by njc; build it first")
    return _find_source_file(header.path, file.absolute(), project), find_source_line(
        line_map, line
    )


def _find_source_file(path: str, compiled: Path, project: Project) -> Path:
    """Look for the source of a compiled file in the project's source roots, then beside the file."""
    beside = compiled.with_suffix(SUFFIX)
    candidates = [*(root / path for root in project.src), beside]
    return next((file for file in candidates if file.exists()), Path(path))
