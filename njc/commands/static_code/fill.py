"""Writing the code of static blocks for a command, with notes on what is done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from njc.commands.terminal.console import Console
from njc.project.build import read_source
from njc.project.config import Project
from njc.project.units import Unit

if TYPE_CHECKING:
    from njc.static.build import StaticBuild


def can_be_static(units: Sequence[Unit], project: Project) -> bool:
    """Return whether the project sets a mode, or a source may."""
    return project.options.mode not in (None, "live") or any(
        b"mode" in read_source(unit).data for unit in units
    )


def fill_and_report(
    console: Console,
    units: Sequence[Unit],
    project: Project,
    *,
    locked: bool,
    learned: bool,
    attempts: int,
    jobs: int | None,
) -> StaticBuild:
    """Write the code of all static blocks, and print which blocks stay live."""
    from njc.static import files

    build = files.fill_units(
        units,
        project,
        locked=locked,
        learned=learned,
        attempts=attempts,
        jobs=jobs,
        notify=console.note,
    )
    for note in build.notes:
        console.note(f"note: {note}")
    return build
