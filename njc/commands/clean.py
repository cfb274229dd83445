"""`njc clean`: remove compiled files whose sources are gone, or all of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from njc.commands.console import Console
from njc.commands.flags import OUT, SOURCES, pass_console, project_flags, project_for, speaking
from njc.project.outputs import compiled_files, existing_at, obstacle, remove, stale_outputs
from njc.project.report import counted
from njc.project.units import output_folders, places_of, shown


@click.command("clean")
@SOURCES
@OUT
@click.option("--all", "everything", is_flag=True, help="Remove up-to-date compiled files too.")
@click.option("--force", is_flag=True, help="Remove compiled files that were edited, too.")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@project_flags
@speaking
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
    project = project_for(sources, flags)
    folders = output_folders(places_of(sources, project), project)
    found = [each for folder in folders for each in compiled_files(folder)]
    doomed = found if everything else stale_outputs(folders)
    kept = {} if force else {each: why for each in doomed if (why := _why_kept(each))}
    removed = [each for each in doomed if each not in kept]
    if not dry_run:
        remove(removed, within=folders)
    for file in removed:
        console.detail(f"removed {shown(file)}" if not dry_run else f"would remove {shown(file)}")
    for why in kept.values():
        console.findings(f"error: {why}")
    console.note(f"{counted(len(removed), 'file')} {'would be ' if dry_run else ''}removed")
    ctx.exit(2 if kept else 0)


def _why_kept(file: Path) -> str | None:
    return obstacle(file, existing_at(file).state)
