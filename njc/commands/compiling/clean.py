"""`njc clean`: remove compiled files without a source, or all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from njc.commands.terminal.console import Console
from njc.commands.terminal.flags import OUT, SOURCES, project_flags, resolve_project, with_console
from njc.project.outputs import (
    find_compiled_files,
    find_leftovers,
    find_overwrite_obstacle,
    find_stale_outputs,
    read_existing_file,
    remove_files,
)
from njc.project.report import format_count
from njc.project.units import choose_places, format_path, list_output_folders
from njrt.errors import ConfigurationError


@click.command("clean")
@SOURCES
@OUT
@click.option("--all", "everything", is_flag=True, help="Remove all compiled files.")
@click.option("--force", is_flag=True, help="Remove edited files too.")
@click.option("--dry-run", is_flag=True, help="Remove nothing; show what would be removed.")
@project_flags
@with_console
def command(
    console: Console,
    sources: Sequence[Path],
    everything: bool,
    force: bool,
    dry_run: bool,
    **flags: Any,
) -> int:
    """Remove compiled files that have no source.

    Files that njc did not write are kept.
    """
    project = resolve_project(sources, flags)
    places = choose_places(sources, project)
    if wrong := [place for place in places if not place.is_dir()]:
        raise ConfigurationError(f"{format_path(wrong[0])} is not a directory; name directories")
    folders = list_output_folders(places, project)
    chosen: Iterable[Path] = find_stale_outputs(folders)
    if everything:
        chosen = [file for folder in folders for file, _ in find_compiled_files(folder)]
    found = {file: find_overwrite_obstacle(file, read_existing_file(file).state) for file in chosen}
    obstacles = {} if force else {file: why for file, why in found.items() if why}
    removed = [file for file in chosen if file not in obstacles]
    removed += [file for folder in folders for file in find_leftovers(folder)]
    if not dry_run:
        remove_files(removed, within=folders)
    for file in removed:
        console.print_detail(f"{'would remove' if dry_run else 'removed'} {format_path(file)}")
    for why in obstacles.values():
        console.findings(f"error: {why}")
    console.note(f"{format_count(len(removed), 'file')} {'would be ' if dry_run else ''}removed")
    return 2 if obstacles else 0
