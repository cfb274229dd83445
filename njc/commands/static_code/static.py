"""`njc static`: improve or repair static blocks' code with recorded runs or a test command.

njc static --learn traces/                     the best code of a few attempts is kept
njc static --repair --learn traces/            a rationale first; kept if all runs are right
njc static --repair --test "pytest -q"         a rationale first; kept if the command exits with 0
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from njc.commands.static_code.lock import find_named_hole, split_places
from njc.commands.terminal.console import Console
from njc.commands.terminal.flags import ATTEMPTS, MODE, project_flags, resolve_project, with_console
from njc.commands.terminal.status_line import show_status
from njc.evaluation.comparison.text import format_text_table
from njc.evaluation.learning.by_command import CommandRepairResult, TestedProgram, repair_by_command
from njc.evaluation.learning.evaluate import SECONDS_PER_EXAMPLE
from njc.evaluation.learning.study import LearningResult, learn_from_examples, read_examples
from njc.project.report import format_count
from njc.project.tuned import get_lock_path
from njc.project.units import find_units
from njc.static.build import HoleRequest
from njc.static.lock import read_lock
from njc.static.write import find_static_files, keep_results
from njrt.errors import ConfigurationError

TABLE_HEADINGS = ("block", "mode", "runs", "before", "learned", "replies")
REPAIR_HEADINGS = ("block", "mode", "runs", "before", "after", "replies")
COMMAND_HEADINGS = ("block", "mode", "before", "after", "replies")
COMMAND_SECONDS = 300.0
_SHELL_OPERATORS = ("&&", "||", "|", ";", "&", ">", ">>", "<", "2>&1")


@click.command("static")
@click.argument("places", nargs=-1, metavar="[SRC | BLOCK]...")
@click.option(
    "--learn",
    "traces",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    metavar="TRACES",
    help="Recorded runs (file or folder).",
)
@click.option("--repair", is_flag=True, help="Ask for a rationale; keep only what passes.")
@click.option("--test", "test", metavar="COMMAND", help="With --repair: the test command.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="Limit of a run (5) or command (300).",
)
@MODE
@ATTEMPTS
@project_flags
@with_console
def command(
    console: Console,
    places: Sequence[str],
    traces: Sequence[Path],
    repair: bool,
    test: str | None,
    seconds: float | None,
    attempts: int,
    **flags: Any,
) -> int:
    """Test static code, and repair what fails.

    It is run on recorded runs or by a command.

    TRACES is a file or a folder of runs that were recorded with NJC_EXAMPLES=FILE. COMMAND imports the compiled
    files; `{out}` in it is their directory.

    --learn keeps the best code in njc.lock with its score, beside the code that was not learned. --repair asks the
    model for a rationale before the code, and keeps both in njc.lock if all runs are right or COMMAND exits with
    0. The exit code is 1 if some code still fails, or if no code was tested.
    """
    if bool(traces) == (test is not None) or (test is not None and not repair):
        raise ConfigurationError(
            "no test was given; use `--learn TRACES`, `--repair --learn TRACES` or "
            "`--repair --test COMMAND`"
        )
    words = [] if test is None else _read_command(test)
    blocks, sources = split_places(places)
    project = resolve_project(sources, {**flags, "mode": flags["mode"] or "static"})
    units = find_units(sources, project)
    file = get_lock_path(project, units[0].root)
    files = find_static_files(units, project)
    holes = [hole for found in files for hole in found.holes]
    if not holes:
        raise ConfigurationError("these sources have no static block")
    chosen = {find_named_hole(block, holes).name for block in blocks}
    lock = read_lock(file)
    request = HoleRequest(
        attempts=attempts, notify=console.note, only=lambda hole: not chosen or hole.name in chosen
    )
    request = keep_results(request, lock, file)
    request.keep(lock)  # fails on a read-only disk, before replies are paid for
    if words:
        limit = seconds or COMMAND_SECONDS
        program = TestedProgram(tuple(files), tuple(units), project, lock, tuple(words), limit)
        with show_status(console):
            repaired = list(repair_by_command(program, request))
        has_failed = _show_command_repair(console, repaired)
    else:
        examples = read_examples(traces)
        count = format_count(len(examples), "recorded run")
        console.note(f"{count} in {', '.join(map(str, traces))}")
        with show_status(console):
            learned = learn_from_examples(
                *(files, lock, examples, request),
                repairs=repair,
                seconds=seconds or SECONDS_PER_EXAMPLE,
            )
            results = list(learned)
        has_failed = _show_learning(console, results, repair)
    return int(has_failed)


def _read_command(text: str) -> list[str]:
    """Return the words of a test command; no shell interprets it."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ConfigurationError(f"the test command cannot be read: {error}") from None
    if found := next((word for word in words if word in _SHELL_OPERATORS), None):
        raise ConfigurationError(
            f"no shell reads the test command, so that `{found}` means nothing in it; use `sh -c '...'`"
        )
    first = words[0] if words else ""
    if shutil.which(first) is None:
        raise ConfigurationError(
            f"there is no command `{first}`; write a line of the shell as `sh -c '...'`"
        )
    return words


def _show_learning(console: Console, results: Sequence[LearningResult], repairs: bool) -> bool:
    """Print the results on recorded runs; return whether some code still fails, or none was tested."""
    rows = []
    for it in results:
        if it.score:
            counts = (len(it.examples.all), it.first, it.score, it.attempts)
            rows.append((it.hole.name, it.hole.mode, *map(str, counts)))
    if rows:
        console.result(format_text_table(REPAIR_HEADINGS if repairs else TABLE_HEADINGS, rows))
    for result in results:
        if result.trouble:
            console.note(f"{result.hole.name}: {result.trouble}")
        elif unusable := result.examples.unusable:
            console.note(f"{result.hole.name}: some runs cannot be used: {'; '.join(unusable)}")
        if result.rationale:
            console.note(f"{result.hole.name}: {result.rationale}")
    return not rows or any(result.score and result.score.wrong for result in results)


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
            console.note(f"{result.hole.name}: {result.trouble or result.rationale}")
    has_passed = any(result.after and result.after.result.has_passed for result in done)
    if not has_passed and sum(result.replies > 0 for result in done) > 1:
        console.note(
            "no change in one block makes the command pass; if several are wrong, repair them one after the other "
            "with tests of one block each"
        )
    return not has_passed
