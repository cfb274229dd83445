"""`njc lock`: how static blocks stand; `njc lock --update`: have their code written, or written anew."""

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
    pass_console,
    project_flags,
    project_for,
    speaking,
)
from njc.project.config import Project
from njc.project.report import counted, rendered
from njc.project.units import Unit, units_of
from njc.static.files import filled, lock_file, save_lock, static_files
from njc.static.holes import Gap
from njc.static.lock import LEARNED, Entry, Lock, read_lock, with_entries, without
from njc.static.staleness import Locked, Stale, Standing, explained, standings, unused
from njrt.errors import ConfigurationError


@click.command("lock")
@click.argument("places", nargs=-1, metavar="[SRC | BLOCK]...")
@click.option("--update", is_flag=True, help="Write what is stale or missing, and BLOCKs anew.")
@click.option("--keep", is_flag=True, help="Keep the code of stale BLOCKs as it is.")
@click.option("--why", is_flag=True, help="Say of each block what it cost, and what has changed.")
@MODE
@ATTEMPTS
@JOBS
@project_flags
@speaking
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
    """Show how the static blocks stand in njc.lock, and write or keep their code.

    A BLOCK is named as the lock names it, such as `mailbox.njpy:Mailbox.triage`. Exits with 1 if a block is
    missing or stale in the end.
    """
    sources = [Path(each) for each in places if ":" not in each]
    blocks = [each for each in places if ":" in each]
    project = project_for(sources, flags)
    units = units_of(sources, project)
    file = lock_file(units, project)
    found = static_files(units, project)
    gaps = [gap for each in found for gap in each.gaps]
    chosen = [named(block, gaps) for block in blocks]
    lock = read_lock(file)
    old = partial(_unused, units=units, project=project)
    if keep:
        save_lock(_kept(lock, chosen or gaps), file)
    elif update:
        anew = [(gap.name, gap.mode + kind) for gap in chosen for kind in ("", LEARNED)]
        dropped = anew or [(each.name, each.mode) for each in old(lock)]
        save_lock(without(lock, dropped), file)
        only = {gap.name for gap in chosen or gaps}
        build = filled(
            units,
            project,
            attempts=attempts,
            jobs=jobs,
            only=lambda gap: gap.name in only,
            told=console.note,
        )
        console.findings(rendered(build.findings, "text"))
    lock = read_lock(file)
    standing = standings(gaps, lock)
    console.result("\n".join(_shown(chosen or gaps, standing, why)))
    for entry in old(lock):
        console.note(f"unused: {entry.name} ({entry.mode}); `njc lock --update` removes it")
    open_ = sum(not isinstance(each, Locked) for each in standing.values())
    console.note(f"{counted(len(gaps), 'static block')}, {open_} to be written")
    ctx.exit(int(bool(open_)))


def named(block: str, gaps: Sequence[Gap]) -> Gap:
    """Find the gap of this name; the file may be left out."""
    for gap in gaps:
        if block in (gap.name, f":{gap.name.partition(':')[2]}"):
            return gap
    known = ", ".join(gap.name for gap in gaps) or "none"
    raise ConfigurationError(
        f"there is no static block `{block}` in these sources; there are: {known}"
    )


def _kept(lock: Lock, gaps: Sequence[Gap]) -> Lock:
    """Take the code of these gaps for what they mean now."""
    kinds = [(gap, gap.mode + kind) for gap in gaps for kind in ("", LEARNED)]
    found = [(gap, lock.entries.get((gap.name, kind))) for gap, kind in kinds]
    return with_entries(lock, [replace(each, meaning=gap.meaning) for gap, each in found if each])


def _unused(lock: Lock, units: Sequence[Unit], project: Project) -> list[Entry]:
    """The entries of blocks that are gone; a block that is live for now may be static tomorrow."""
    static = replace(project, options=replace(project.options, mode="static"))
    names = {gap.name for file in static_files(units, static) for gap in file.gaps}
    roots = {unit.root for unit in units}
    return unused(
        lock,
        {unit.path for unit in units},
        names,
        lambda path: any((root / path).exists() for root in roots),
    )


def _shown(gaps: Sequence[Gap], standing: dict[str, Standing], why: bool) -> Iterator[str]:
    width = max((len(gap.name) for gap in gaps), default=0)
    for gap in gaps:
        stands = standing[gap.name]
        yield f"{gap.name:{width}}  {gap.mode:10}  {explained(stands)}"
        if why and isinstance(stands, Locked | Stale):
            yield from (f"    {line}" for line in _history(stands.entry))


def _history(entry: Entry) -> Iterator[str]:
    usd = "" if entry.usd is None else f", ${entry.usd:.4f}"
    yield (
        f"written by {entry.model or 'an unnamed model'} on {entry.date} in "
        f"{counted(entry.attempts, 'attempt')}, {entry.input_tokens} + {entry.output_tokens} tokens{usd}"
    )
