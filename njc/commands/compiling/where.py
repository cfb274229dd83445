"""`njc where out/mail.py:41`: the line of the source; `njc where src/mail.njpy:37`: the compiled line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from njc.commands.terminal.console import Console
from njc.commands.terminal.flags import OUT, project_flags, resolve_project, with_console
from njc.project.units import format_path
from njc.project.where import find_counterpart
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
    """Read `FILE:LINE`, or `FILE:LINE:COLUMN` as tools print it."""
    parts = place.rsplit(":", 2)
    if len(parts) == 3 and not parts[1].isdecimal():
        parts = place.rsplit(":", 1)
    if len(parts) < 2 or not parts[1].isdecimal() or int(parts[1]) < 1:
        raise ConfigurationError(f"`{place}` is not a place; write FILE:LINE, such as mail.py:41")
    return Path(parts[0]), int(parts[1])
