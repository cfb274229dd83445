"""`njc lock`: the state of static blocks, and what a person says about their code."""

from __future__ import annotations

import getpass
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from njc.commands.terminal.console import Console
from njc.commands.terminal.flags import MODE, project_flags, resolve_project, with_console
from njc.project.config import get_lock_path
from njc.project.report import format_count
from njc.project.units import find_units
from njc.static.fit import StaticFile
from njc.static.holes import Hole
from njc.static.lock import LockEntry, Review, StaticLock, read_lock
from njc.static.staleness import HoleStatus, Locked, describe_hole_status, find_hole_statuses
from njc.static.write import change_lock, find_static_files
from njrt.errors import ConfigurationError


@click.command("lock")
@click.argument("places", nargs=-1, metavar="[SRC | BLOCK]...")
@click.option("--keep", is_flag=True, help="Mark the code of stale BLOCKs as current.")
@click.option("--reviewed", is_flag=True, help="Sign the code of BLOCKs, which you have read.")
@MODE
@project_flags
@with_console
def command(
    console: Console,
    places: Sequence[str],
    keep: bool,
    reviewed: bool,
    **flags: Any,
) -> int:
    """Show static blocks in njc.lock; keep or sign their code.

    A BLOCK has its name in the lock, such as `mailbox.njpy:Mailbox.triage`. The exit code is 1 if a
    block is missing or stale at the end.
    """
    blocks, sources = split_places(places)
    project = resolve_project(sources, flags)
    units = find_units(sources, project)
    file = get_lock_path(project, units[0].root)
    files = find_static_files(units, project)
    holes = [hole for found in files for hole in found.holes]
    chosen = [find_named_hole(block, holes) for block in blocks]
    lock = read_lock(file)
    changed: list[LockEntry] = []
    if keep:
        found = [(it, lock.entries.get((it.name, it.mode))) for it in chosen or holes]
        changed = [replace(entry, meaning=it.meaning) for it, entry in found if entry]
    elif reviewed:
        changed = _sign(chosen, lock, files)
    if changed:
        change_lock(file, lambda lock: lock.with_entries(changed))
    statuses = find_hole_statuses(holes, read_lock(file))
    console.result("\n".join(_format_statuses(chosen or holes, statuses)))
    for kind in dict.fromkeys(kind for kind, _ in lock.kept):
        console.note(f"not used by this njc: the sections [[{kind}]], which may be deleted")
    unwritten = sum(not isinstance(status, Locked) for status in statuses.values())
    console.note(f"{format_count(len(holes), 'static block')}, {unwritten} to be written")
    return int(bool(unwritten))


def _sign(chosen: Sequence[Hole], lock: StaticLock, files: Sequence[StaticFile]) -> list[LockEntry]:
    """Return the entries of blocks, signed by the person who runs the command."""
    if not chosen:
        raise ConfigurationError(
            "name the blocks whose code you have read, as `njc lock` lists them"
        )
    name, signed = find_person(), []
    for hole in chosen:
        status = find_hole_statuses([hole], lock)[hole.name]
        if not isinstance(status, Locked):
            problem = describe_hole_status(status)
            raise ConfigurationError(f"{hole.name} has no code to sign: it is {problem}")
        (file,) = (it for it in files if hole in it.holes)
        check = file.make_code_check(hole, is_locked=True)
        if reasons := check(status.entry.code):
            raise ConfigurationError(f"the code of {hole.name} is refused: {'; '.join(reasons)}")
        review = Review(name, time.strftime("%Y-%m-%d"), status.entry.compute_signature())
        signed.append(replace(status.entry, reviewed=review))
    return signed


def find_person() -> str:
    """Return the name that git has for the user, or else the login name."""
    with suppress(OSError):
        git = ["git", "config", "user.name"]
        done = subprocess.run(git, capture_output=True, text=True, check=False)
        if name := done.stdout.strip():
            return name
    return getpass.getuser()


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


def _format_statuses(holes: Sequence[Hole], statuses: Mapping[str, HoleStatus]) -> Iterator[str]:
    width = max((len(hole.name) for hole in holes), default=0)
    for hole in holes:
        status = statuses[hole.name]
        is_signed = not isinstance(status, Locked) or status.entry.is_reviewed
        unsigned = ", not signed" * (hole.needs_review and not is_signed)
        yield f"{hole.name:{width}}  {hole.mode:10}  {describe_hole_status(status)}{unsigned}"
