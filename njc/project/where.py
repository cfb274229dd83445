"""Between the lines of a compiled file and those of its source.

place_of(Path("out/mail.py"), 41, project)       (src/mail.njpy, 37)
place_of(Path("src/mail.njpy"), 37, project)     (out/mail.py, 41)
"""

from __future__ import annotations

from pathlib import Path

from njc.codegen.header import header_of
from njc.codegen.linemap import compiled_line, read_line_map, source_line
from njc.compiler import compile_source
from njc.project.build import source_of
from njc.project.config import Project
from njc.project.units import SUFFIX, shown, units_of
from njrt.errors import ConfigurationError


def place_of(file: Path, line: int, project: Project) -> tuple[Path, int]:
    """Find where a line of a compiled file comes from, or where a line of a source went.

    Raises ConfigurationError where the file is neither, or is not there.
    """
    if file.suffix == SUFFIX:
        return _compiled_place(file, line, project)
    return _source_place(file, line, project)


def _compiled_place(file: Path, line: int, project: Project) -> tuple[Path, int]:
    (unit,) = units_of([file], project)
    compilation = compile_source(source_of(unit), project=project.options)
    if compilation.output is None:
        raise ConfigurationError(f"{shown(file)} has errors; `njc check {shown(file)}` shows them")
    return unit.output, compiled_line(compilation.line_map, line)


def _source_place(file: Path, line: int, project: Project) -> tuple[Path, int]:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"cannot read {shown(file)}: {error.strerror}") from None
    header, line_map = header_of(data), read_line_map(data)
    if header is None or line_map is None:
        raise ConfigurationError(f"{shown(file)} is no file that njc compiled; build it first")
    return _source_named(header.path, file.absolute(), project), source_line(line_map, line)


def _source_named(path: str, compiled: Path, project: Project) -> Path:
    """Look for the source of a compiled file where the project has sources, then beside the file."""
    beside = compiled.with_suffix(SUFFIX)
    candidates = [*(root / path for root in project.src), beside]
    return next((each for each in candidates if each.exists()), Path(path))
