"""`njc static --repair --test "pytest -q"`: repair static blocks until a test command passes."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import click

from njc.commands.lock import find_named_hole, split_places
from njc.commands.terminal.console import Console
from njc.commands.terminal.flags import ATTEMPTS, MODE, project_flags, resolve_project, with_console
from njc.commands.terminal.status_line import show_status
from njc.measure.repair.by_command import CommandRepairResult, TestedProgram, repair_by_command
from njc.project.config import get_lock_path
from njc.project.report import format_text_table
from njc.project.units import find_units
from njc.static.build import HoleRequest
from njc.static.lock import read_lock
from njc.static.write import find_static_files, keep_results
from njrt.errors import ConfigurationError

COMMAND_HEADINGS = ("block", "mode", "before", "after", "replies")
COMMAND_SECONDS = 300.0


@click.command("static")
@click.argument("places", nargs=-1, metavar="[SRC | BLOCK]...")
@click.option("--repair", is_flag=True, help="Repair the code that fails.")
@click.option("--test", "test", metavar="COMMAND", help="The test command.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="Limit of the command (300).",
)
@MODE
@ATTEMPTS
@project_flags
@with_console
def command(
    console: Console,
    places: Sequence[str],
    repair: bool,
    test: str | None,
    seconds: float | None,
    attempts: int,
    **flags: Any,
) -> int:
    """Repair static code until a test command passes.

    COMMAND imports the compiled files; `{out}` in it is their directory. The model writes a
    rationale before the code, and both are kept in njc.lock if COMMAND then exits with 0. The exit
    code is 1 if it still fails.
    """
    if test is None or not repair:
        raise ConfigurationError("no test was given; use `--repair --test COMMAND`")
    words = _read_command(test)
    blocks, sources = split_places(places)
    project = resolve_project(sources, flags)
    if project.options.mode in (None, "live"):
        project = resolve_project(sources, {**flags, "mode": "static"})
    units = find_units(sources, project)
    file = get_lock_path(project, units[0].root)
    files = find_static_files(units, project)
    holes = [hole for found in files for hole in found.holes]
    if not holes:
        raise ConfigurationError('no block is static; write mode="static" on one')
    named = [find_named_hole(block, holes) for block in blocks] or holes
    chosen = [(found, hole) for found in files for hole in found.holes if hole in named]
    lock = read_lock(file)
    request = keep_results(HoleRequest(attempts=attempts, notify=console.note), file)
    request.keep(())  # fails on a read-only disk, before replies are paid for
    limit = seconds or COMMAND_SECONDS
    program = TestedProgram(tuple(sources), project, lock, tuple(words), limit)
    with show_status(console):
        repaired = list(repair_by_command(program, chosen, request))
    return int(_show_command_repair(console, repaired))


def _read_command(text: str) -> list[str]:
    """Return the words of a test command; no shell interprets it."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ConfigurationError(f"the test command cannot be read: {error}") from None
    if not words:
        raise ConfigurationError("the test command is empty")
    return words


def _show_command_repair(console: Console, done: Sequence[CommandRepairResult]) -> bool:
    """Print a test command's results; return whether it still fails."""
    rows = [
        (it.hole.name, it.hole.mode, *map(str, (it.before, it.after, it.replies)))
        for it in done
        if it.before
    ]
    if rows:
        console.result(format_text_table(COMMAND_HEADINGS, rows))
    for result in done:
        if result.trouble or result.rationale:
            console.note(f"{result.hole.name}: {result.trouble or result.rationale.strip()}")
    return not any(result.after and result.after.has_passed for result in done)
