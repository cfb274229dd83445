"""`njc clean`: remove compiled files whose sources are gone, or all of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from njc.commands.console import Console
from njc.commands.flags import (
    OUT,
    SOURCES,
    console_flags,
    pass_console,
    project_flags,
    resolve_project,
)
from njc.project.outputs import (
    find_compiled_files,
    find_overwrite_obstacle,
    find_stale_outputs,
    read_existing_file,
    remove_files,
)
from njc.project.report import format_count
from njc.project.units import choose_places, format_path, list_output_folders


@click.command("clean")
@SOURCES
@OUT
@click.option("--all", "everything", is_flag=True, help="Remove up-to-date compiled files too.")
@click.option("--force", is_flag=True, help="Remove compiled files that were edited, too.")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@project_flags
@console_flags
@pass_console
@click.pass_context
def command(
    ctx: click.Context,
    console: Console,
    /,
    sources: Sequence[Path],
    everything: bool,
    force: bool,
    dry_run: bool,
    **flags: Any,
) -> None:
    """Remove compiled files whose sources are gone; files that njc did not write are never touched."""
    project = resolve_project(sources, flags)
    folders = list_output_folders(choose_places(sources, project), project)
    found = [each for folder in folders for each in find_compiled_files(folder)]
    doomed = found if everything else find_stale_outputs(folders)
    kept = {} if force else {each: why for each in doomed if (why := _find_obstacle(each))}
    removed = [each for each in doomed if each not in kept]
    if not dry_run:
        remove_files(removed, within=folders)
    for file in removed:
        console.print_detail(
            f"removed {format_path(file)}" if not dry_run else f"would remove {format_path(file)}"
        )
    for why in kept.values():
        console.findings(f"error: {why}")
    console.note(f"{format_count(len(removed), 'file')} {'would be ' if dry_run else ''}removed")
    ctx.exit(2 if kept else 0)


def _find_obstacle(file: Path) -> str | None:
    return find_overwrite_obstacle(file, read_existing_file(file).state)
