"""`njc lock`: the state of static blocks, rewriting their code, and what blocks may do when they run."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from njc.commands.terminal.console import Console
from njc.commands.terminal.flags import (
    ATTEMPTS,
    JOBS,
    MODE,
    PATH,
    project_flags,
    refuse_options,
    resolve_project,
    with_console,
)
from njc.evaluation.cases.tuner import Form
from njc.project.build import Finding
from njc.project.config import Project
from njc.project.report import format_count, format_diff, format_findings
from njc.project.tuned import get_lock_path
from njc.project.units import Unit, find_units
from njc.runs.authority import (
    collect_needs,
    find_block_keys,
    remove_stale_authority,
    widen_authority,
)
from njc.static.build import HoleRequest
from njc.static.holes import Hole
from njc.static.lock import LEARNED_SUFFIX, LockEntry, StaticLock, format_lock, read_lock
from njc.static.splice import name_static_code
from njc.static.staleness import (
    HoleStatus,
    Locked,
    Stale,
    describe_hole_status,
    find_hole_statuses,
    find_unused_entries,
)
from njc.static.write import fill_units, find_static_files, save_lock
from njrt.errors import ConfigurationError
from njrt.options import merge_option_layers, read_environment_options
from njrt.persistence.open_store import get_store_to_read
from njrt.production.canary.block_state import CanaryStore, describe_alarm


@click.command("lock")
@click.argument("places", nargs=-1, metavar="[SRC | BLOCK]...")
@click.option("--update", is_flag=True, help="Write missing and stale code, and all BLOCKs.")
@click.option("--keep", is_flag=True, help="Mark the code of stale BLOCKs as current.")
@click.option("--why", is_flag=True, help="Show cost and changes of each block.")
@click.option("--authority", is_flag=True, help="Write what blocks may do when they run.")
@click.option(
    "--from",
    "runs",
    multiple=True,
    type=PATH,
    metavar="FILE",
    help="With --authority: a recording or trace.",
)
@click.option("--check", is_flag=True, help="With --authority: fail, do not write.")
@MODE
@ATTEMPTS
@JOBS
@project_flags
@with_console
def command(
    console: Console,
    places: Sequence[str],
    update: bool,
    keep: bool,
    why: bool,
    authority: bool,
    runs: Sequence[Path],
    check: bool,
    attempts: int,
    jobs: int | None,
    **flags: Any,
) -> int:
    """Show static blocks in njc.lock; write or keep their code.

    A BLOCK has its name in the lock, such as `mailbox.njpy:Mailbox.triage`. The exit code is 1 if a block is
    missing or stale at the end. With --authority, the manifest in njc.lock is widened to the needs of the blocks in
    recordings and traces: from --from, else `recordings/NAME.jsonl` beside each source.
    """
    if not authority:
        refuse_options("needs --authority", "check", "runs")
    if keep:
        refuse_options("writes code again; --keep keeps it", "update")
    blocks, sources = split_places(places)
    project = resolve_project(sources, flags)
    units = find_units(sources, project)
    file = get_lock_path(project, units[0].root)
    if authority:
        refuse_options("is about static code; --authority is not", "update", "keep", "why")
        if blocks:
            raise ConfigurationError(f"--authority takes sources, not the block {blocks[0]}")
        return _lock_authority(console, units, file, runs, check)
    holes = [hole for found in find_static_files(units, project) for hole in found.holes]
    chosen = [find_named_hole(block, holes) for block in blocks]
    lock, findings = read_lock(file), tuple[Finding, ...]()
    find_unused = partial(_find_unused_in_units, units=units, project=project)
    if keep:
        keys = ((it, key) for it in chosen or holes for key in _list_keys(it))
        entries = ((it, lock.entries[key]) for it, key in keys if key in lock.entries)
        kept = [replace(entry, meaning=it.meaning) for it, entry in entries]
        save_lock(lock.with_entries(kept), lock, file)
    elif update:
        names = {hole.name for hole in chosen or holes}
        rewritten = tuple(itertools.chain(*map(_list_keys, chosen)))
        request = HoleRequest(
            attempts=attempts,
            jobs=jobs,
            rewritten=rewritten,
            only=lambda hole: hole.name in names,
            notify=console.note,
        )
        findings = fill_units(units, project, request).findings
        lock = read_lock(file)
        unused = [(entry.name, entry.mode) for entry in find_unused(lock) if not chosen]
        stale = _find_stale_tuned(lock, units)
        current = {key: each for key, each in lock.tuned.items() if key not in stale}
        save_lock(replace(lock.without_entries(unused), tuned=current), lock, file)
        console.findings(format_findings(findings, "text"))
    lock = read_lock(file)
    statuses = find_hole_statuses(holes, lock)
    alarms = find_alarms(chosen or holes, statuses)
    console.result("\n".join(_format_statuses(chosen or holes, statuses, alarms, why)))
    console.result("\n".join(_format_tuned(lock, units)))
    for entry in find_unused(lock):
        console.note(f"unused: {entry.name} ({entry.mode}); `njc lock --update` removes it")
    unwritten = sum(not isinstance(status, Locked) for status in statuses.values())
    console.note(f"{format_count(len(holes), 'static block')}, {unwritten} to be written")
    return int(bool(unwritten or findings))


def _lock_authority(
    console: Console, units: Sequence[Unit], file: Path, runs: Sequence[Path], check: bool
) -> int:
    """Widen the manifest, or show what would change; return the exit code."""
    recorded = (unit.source.parent / "recordings" / f"{unit.source.stem}.jsonl" for unit in units)
    runs = runs or [path for path in recorded if path.exists()]
    if not runs:
        raise ConfigurationError(
            "there are no recordings of these sources; name one, or a trace, with --from"
        )
    blocks = find_block_keys(units)
    lock = read_lock(file)
    needed = collect_needs(runs, blocks)
    changed = remove_stale_authority(widen_authority(lock, needed), units, blocks)
    diff = format_diff(format_lock(lock), format_lock(changed), str(file), str(file))
    console.result(diff)
    if not check:
        save_lock(changed, lock, file)
    console.note(f"{format_count(len(changed.authority), 'block')} in the manifest of {file}")
    return int(check and bool(diff))


def _format_tuned(lock: StaticLock, units: Sequence[Unit]) -> Iterator[str]:
    """Yield a line for each form that was chosen for a block in these sources."""
    stale, files = _find_stale_tuned(lock, units), {unit.path for unit in units}
    for key, section in lock.tuned.items():
        if section.file in files:
            form = Form(section.options, tuple(section.examples))
            state = "stale: its prompt has changed" if key in stale else str(section.evidence)
            yield f"{section.file}  tuned for {section.model}: {form}; {state}"


def _find_stale_tuned(lock: StaticLock, units: Sequence[Unit]) -> set[tuple[str, str, str]]:
    """Return the keys of forms that were chosen for blocks no longer in these sources."""
    files = {unit.path for unit in units}
    chosen = [key for key in lock.tuned if key[0] in files]
    blocks = find_block_keys(units) if chosen else {}
    return {key for key in chosen if key[:2] not in blocks}


def split_places(places: Sequence[str]) -> tuple[list[str], list[Path]]:
    """Split a command's arguments into block names and sources."""
    blocks = [place for place in places if ":" in place and not Path(place).exists()]
    return blocks, [Path(place) for place in places if place not in blocks]


def find_named_hole(block: str, holes: Sequence[Hole]) -> Hole:
    """Find the hole with this name; the name may omit the file."""
    for hole in holes:
        if block in (hole.name, f":{hole.name.partition(':')[2]}"):
            return hole
    known = ", ".join(hole.name for hole in holes) or "none"
    raise ConfigurationError(
        f"there is no static block `{block}` in these sources; there are: {known}"
    )


def _list_keys(hole: Hole) -> list[tuple[str, str]]:
    return [(hole.name, hole.mode + kind) for kind in ("", LEARNED_SUFFIX)]


def _find_unused_in_units(
    lock: StaticLock, units: Sequence[Unit], project: Project
) -> list[LockEntry]:
    """Find removed blocks' entries; a block that is now live may become static again."""
    static = replace(project, options=replace(project.options, mode="static"))
    names = {hole.name for file in find_static_files(units, static) for hole in file.holes}
    roots = {unit.root for unit in units}

    def exists(path: str) -> bool:
        return any((root / path).exists() for root in roots)

    return find_unused_entries(lock, {unit.path for unit in units}, names, exists)


def _format_statuses(
    holes: Sequence[Hole], statuses: Mapping[str, HoleStatus], alarms: Mapping[str, str], why: bool
) -> Iterator[str]:
    width = max((len(hole.name) for hole in holes), default=0)
    for hole in holes:
        status = statuses[hole.name]
        yield f"{hole.name:{width}}  {hole.mode:10}  {describe_hole_status(status)}"
        if hole.name in alarms:
            yield f"    live at run time: {alarms[hole.name]}; `njc canary --clear '{hole.name}'`"
        if why and isinstance(status, Locked | Stale):
            entry = status.entry
            usd = "" if entry.usd is None else f", ${entry.usd:.4f}"
            yield (
                f"    written by {entry.model or 'an unnamed model'} on {entry.date} in "
                f"{format_count(entry.attempts, 'attempt')}, {entry.tokens.input} + {entry.tokens.output} tokens{usd}"
            )


def find_alarms(holes: Sequence[Hole], statuses: Mapping[str, HoleStatus]) -> dict[str, str]:
    """Return the canary alarms of blocks that run live despite up-to-date code, by name."""
    environment = read_environment_options(os.environ)
    alarms = {}
    for hole in holes:
        status = statuses[hole.name]
        options = merge_option_layers(hole.options, environment)
        if options.canary is None or not isinstance(status, Locked) or status.entry.live:
            continue
        store = CanaryStore(get_store_to_read(options.store, os.environ))
        if alarm := store.read(name_static_code(hole, status.entry.code)).alarm:
            alarms[hole.name] = describe_alarm(alarm)
    return alarms
