"""`njc where out/mail.py:41`: the source line; `njc where src/mail.njpy:37`: the compiled line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from njc.codegen.header import is_intact, parse_header
from njc.codegen.linemap import parse_line_map
from njc.commands.terminal.console import Console
from njc.commands.terminal.flags import OUT, project_flags, resolve_project, with_console
from njc.project.build import make_compile_task, read_source
from njc.project.config import Project
from njc.project.units import SUFFIX, find_units, format_path, read_file
from njrt.errors import ConfigurationError


@click.command("where")
@click.argument("places", nargs=-1, required=True, metavar="FILE:LINE...")
@OUT
@project_flags
@with_console
def command(console: Console, places: tuple[str, ...], **flags: Any) -> None:
    """Map a compiled line to its source line, or the reverse."""
    for place in places:
        file, line = _parse_place(place)
        found, at = find_counterpart(file, line, resolve_project([file], flags))
        console.result(f"{format_path(found)}:{at}")


def _parse_place(place: str) -> tuple[Path, int]:
    """Read `FILE:LINE`, or `FILE:LINE:COLUMN`, which tools print."""
    found = re.fullmatch(r"(.+?):(0*[1-9]\d{0,8})(?::[^:]*)?", place)
    if found is None:
        raise ConfigurationError(f"`{place}` is not a place; write FILE:LINE, such as mail.py:41")
    return Path(found[1]), int(found[2])


def find_counterpart(file: Path, line: int, project: Project) -> tuple[Path, int]:
    """Map a compiled file's line to its source, or the reverse; raises ConfigurationError if the file is neither."""
    data = read_file(file)
    if line > (count := len(data.splitlines()) + 1):
        raise ConfigurationError(f"{format_path(file)} has no line {line}; its last is {count}")
    if file.suffix == SUFFIX:
        (unit,) = find_units([file], project)
        compilation = make_compile_task(unit, read_source(unit), project).compile()
        if compilation.output is None:
            name = format_path(file)
            raise ConfigurationError(f"{name} has errors; `njc check {name}` shows them")
        return unit.output, compilation.line_map.find_compiled_line(line)
    header, line_map = parse_header(data), parse_line_map(data)
    problem = "was edited after the build, or is a stub" if header else "was not compiled by njc"
    if header is None or line_map is None or not is_intact(data):
        raise ConfigurationError(f"{format_path(file)} {problem}; build it again")
    beside = file.absolute().with_suffix(SUFFIX)
    candidates = [*(root / header.path for root in project.src), beside]
    source = next((place for place in candidates if place.exists()), Path(header.path))
    return source, line_map.find_source_line(line)
