"""`njc static --learn traces/`: improve the code of static blocks with recorded runs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from njc.commands.console import Console
from njc.commands.flags import (
    ATTEMPTS,
    MODE,
    console_flags,
    pass_console,
    project_flags,
    resolve_project,
)
from njc.commands.lock import find_named_hole
from njc.comparison.text import format_text_table
from njc.learning.study import LearningResult, learn_from_examples, read_examples
from njc.project.report import format_count
from njc.project.units import find_units
from njc.static.build import HoleRequest
from njc.static.files import find_lock_file, find_static_files, keep_attempts, save_lock
from njc.static.lock import read_lock

TABLE_HEADINGS = ("block", "mode", "runs", "before", "learned", "replies")


@click.command("static")
@click.argument("places", nargs=-1, metavar="[SRC | BLOCK]...")
@click.option(
    "--learn",
    "traces",
    multiple=True,
    required=True,
    type=click.Path(exists=True, path_type=Path),
    metavar="TRACES",
    help="Recorded runs (file or folder).",
)
@MODE
@ATTEMPTS
@project_flags
@console_flags
@pass_console
@click.pass_context
def command(
    ctx: click.Context,
    console: Console,
    /,
    places: Sequence[str],
    traces: Sequence[Path],
    attempts: int,
    **flags: Any,
) -> None:
    """Test static code on recorded runs; have the model fix failures.

    TRACES is a file or a folder of runs that were recorded with NJC_EXAMPLES=FILE.

    njc.lock keeps the best code with its score, beside the code that was not learned. The exit code is 1 if
    some code still fails on a run.
    """
    sources = [Path(place) for place in places if ":" not in place]
    project = resolve_project(sources, {**flags, "mode": flags["mode"] or "static"})
    units = find_units(sources, project)
    file = find_lock_file(units, project)
    files = find_static_files(units, project)
    holes = [hole for found in files for hole in found.holes]
    chosen = {find_named_hole(place, holes).name for place in places if ":" in place}
    request = HoleRequest(
        attempts=attempts,
        today=lambda: time.strftime("%Y-%m-%d"),
        keep=lambda lock: save_lock(lock, file),
        keep_attempts=lambda hole, result: keep_attempts(hole, result, file.parent),
        notify=console.note,
        only=lambda hole: not chosen or hole.name in chosen,
    )
    examples = read_examples(traces)
    console.note(f"{format_count(len(examples), 'recorded run')} in {', '.join(map(str, traces))}")
    results = list(learn_from_examples(files, read_lock(file), examples, request))
    if rows := [_make_row(result) for result in results if result.score]:
        console.result(format_text_table(TABLE_HEADINGS, rows))
    for result in results:
        if result.trouble:
            console.note(f"{result.hole.name}: {result.trouble}")
        elif unusable := result.examples.unusable:
            console.note(f"{result.hole.name}: some runs cannot be used: {'; '.join(unusable)}")
    ctx.exit(int(any(result.score and result.score.wrong for result in results)))


def _make_row(result: LearningResult) -> tuple[str, ...]:
    return (
        result.hole.name,
        result.hole.mode,
        str(len(result.examples.all)),
        str(result.first),
        str(result.score),
        str(result.attempts),
    )
