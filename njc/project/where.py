"""Between the lines of a compiled file and those of its source.

find_counterpart(Path("out/mail.py"), 41, project)       (src/mail.njpy, 37)
find_counterpart(Path("src/mail.njpy"), 37, project)     (out/mail.py, 41)
"""

from __future__ import annotations

from pathlib import Path

from njc.codegen.header import parse_header
from njc.codegen.linemap import find_compiled_line, find_source_line, parse_line_map
from njc.compiler import compile_source
from njc.project.build import read_source
from njc.project.config import Project
from njc.project.units import SUFFIX, find_units, format_path
from njrt.errors import ConfigurationError


def find_counterpart(file: Path, line: int, project: Project) -> tuple[Path, int]:
    """Find where a line of a compiled file comes from, or where a line of a source went.

    Raises ConfigurationError where the file is neither, or is not there.
    """
    if file.suffix == SUFFIX:
        return _find_compiled_place(file, line, project)
    return _find_source_place(file, line, project)


def _find_compiled_place(file: Path, line: int, project: Project) -> tuple[Path, int]:
    (unit,) = find_units([file], project)
    compilation = compile_source(read_source(unit), project=project.options)
    if compilation.output is None:
        raise ConfigurationError(
            f"{format_path(file)} has errors; `njc check {format_path(file)}` shows them"
        )
    return unit.output, find_compiled_line(compilation.line_map, line)


def _find_source_place(file: Path, line: int, project: Project) -> tuple[Path, int]:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"cannot read {format_path(file)}: {error.strerror}") from None
    header, line_map = parse_header(data), parse_line_map(data)
    if header is None or line_map is None:
        raise ConfigurationError(
            f"{format_path(file)} is no file that njc compiled; build it first"
        )
    return _find_source_file(header.path, file.absolute(), project), find_source_line(
        line_map, line
    )


def _find_source_file(path: str, compiled: Path, project: Project) -> Path:
    """Look for the source of a compiled file where the project has sources, then beside the file."""
    beside = compiled.with_suffix(SUFFIX)
    candidates = [*(root / path for root in project.src), beside]
    return next((each for each in candidates if each.exists()), Path(path))
