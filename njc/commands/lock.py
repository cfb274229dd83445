"""`njc lock`: the state of static blocks; `njc lock --update`: write their code again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from njc.commands.console import Console
from njc.commands.flags import (
    ATTEMPTS,
    JOBS,
    MODE,
    console_flags,
    pass_console,
    project_flags,
    resolve_project,
)
from njc.project.config import Project
from njc.project.report import format_count, format_findings
from njc.project.units import Unit, find_units
from njc.static.files import fill_units, find_lock_file, find_static_files, save_lock
from njc.static.holes import Hole
from njc.static.lock import (
    LEARNED_SUFFIX,
    LockEntry,
    StaticLock,
    add_entries,
    read_lock,
    remove_entries,
)
from njc.static.staleness import (
    HoleStatus,
    Locked,
    Stale,
    describe_hole_status,
    find_hole_statuses,
    find_unused_entries,
)
from njrt.errors import ConfigurationError


@click.command("lock")
@click.argument("places", nargs=-1, metavar="[SRC | BLOCK]...")
@click.option("--update", is_flag=True, help="Write missing and stale code, and all BLOCKs.")
@click.option("--keep", is_flag=True, help="Mark the code of stale BLOCKs as current.")
@click.option("--why", is_flag=True, help="Show cost and changes of each block.")
@MODE
@ATTEMPTS
@JOBS
@project_flags
@console_flags
@pass_console
@click.pass_context
def command(
    ctx: click.Context,
    console: Console,
    /,
    places: Sequence[str],
    update: bool,
    keep: bool,
    why: bool,
    attempts: int,
    jobs: int | None,
    **flags: Any,
) -> None:
    """Show static blocks in njc.lock; write or keep their code.

    A BLOCK has its name in the lock, such as `mailbox.njpy:Mailbox.triage`. The exit code is 1 if a block is
    missing or stale at the end.
    """
    sources = [Path(each) for each in places if ":" not in each]
    blocks = [each for each in places if ":" in each]
    project = resolve_project(sources, flags)
    units = find_units(sources, project)
    file = find_lock_file(units, project)
    found = find_static_files(units, project)
    holes = [hole for each in found for hole in each.holes]
    chosen = [find_named_hole(block, holes) for block in blocks]
    lock = read_lock(file)
    old = partial(_find_unused_in_units, units=units, project=project)
    if keep:
        save_lock(_keep_code(lock, chosen or holes), file)
    elif update:
        anew = [(hole.name, hole.mode + kind) for hole in chosen for kind in ("", LEARNED_SUFFIX)]
        dropped = anew or [(each.name, each.mode) for each in old(lock)]
        save_lock(remove_entries(lock, dropped), file)
        only = {hole.name for hole in chosen or holes}
        build = fill_units(
            units,
            project,
            attempts=attempts,
            jobs=jobs,
            only=lambda hole: hole.name in only,
            told=console.note,
        )
        console.findings(format_findings(build.findings, "text"))
    lock = read_lock(file)
    standing = find_hole_statuses(holes, lock)
    console.result("\n".join(_format_statuses(chosen or holes, standing, why)))
    for entry in old(lock):
        console.note(f"unused: {entry.name} ({entry.mode}); `njc lock --update` removes it")
    open_ = sum(not isinstance(each, Locked) for each in standing.values())
    console.note(f"{format_count(len(holes), 'static block')}, {open_} to be written")
    ctx.exit(int(bool(open_)))


def find_named_hole(block: str, holes: Sequence[Hole]) -> Hole:
    """Find the hole of this name; the file may be left out."""
    for hole in holes:
        if block in (hole.name, f":{hole.name.partition(':')[2]}"):
            return hole
    known = ", ".join(hole.name for hole in holes) or "none"
    raise ConfigurationError(
        f"there is no static block `{block}` in these sources; there are: {known}"
    )


def _keep_code(lock: StaticLock, holes: Sequence[Hole]) -> StaticLock:
    """Take the code of these holes for what they mean now."""
    kinds = [(hole, hole.mode + kind) for hole in holes for kind in ("", LEARNED_SUFFIX)]
    found = [(hole, lock.entries.get((hole.name, kind))) for hole, kind in kinds]
    return add_entries(lock, [replace(each, meaning=hole.meaning) for hole, each in found if each])


def _find_unused_in_units(
    lock: StaticLock, units: Sequence[Unit], project: Project
) -> list[LockEntry]:
    """The entries of blocks that are gone; a block that is live for now may be static tomorrow."""
    static = replace(project, options=replace(project.options, mode="static"))
    names = {hole.name for file in find_static_files(units, static) for hole in file.holes}
    roots = {unit.root for unit in units}
    return find_unused_entries(
        lock,
        {unit.path for unit in units},
        names,
        lambda path: any((root / path).exists() for root in roots),
    )


def _format_statuses(
    holes: Sequence[Hole], standing: dict[str, HoleStatus], why: bool
) -> Iterator[str]:
    width = max((len(hole.name) for hole in holes), default=0)
    for hole in holes:
        stands = standing[hole.name]
        yield f"{hole.name:{width}}  {hole.mode:10}  {describe_hole_status(stands)}"
        if why and isinstance(stands, Locked | Stale):
            yield from (f"    {line}" for line in _format_history(stands.entry))


def _format_history(entry: LockEntry) -> Iterator[str]:
    usd = "" if entry.usd is None else f", ${entry.usd:.4f}"
    yield (
        f"written by {entry.model or 'an unnamed model'} on {entry.date} in "
        f"{format_count(entry.attempts, 'attempt')}, {entry.tokens.input} + {entry.tokens.output} tokens{usd}"
    )
