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
    sources = [Path(each) for each in places if ":" not in each]
    project = resolve_project(sources, {"mode": "static", **{k: v for k, v in flags.items() if v}})
    units = find_units(sources, project)
    file = find_lock_file(units, project)
    found = find_static_files(units, project)
    holes = [hole for each in found for hole in each.holes]
    chosen = {find_named_hole(each, holes).name for each in places if ":" in each}
    request = HoleRequest(
        attempts=attempts,
        today=lambda: time.strftime("%Y-%m-%d"),
        keep=lambda lock: save_lock(lock, file),
        keep_attempts=lambda hole, result: keep_attempts(hole, result, file.parent),
        told=console.note,
        only=lambda hole: not chosen or hole.name in chosen,
    )
    examples = read_examples(traces)
    console.note(f"{format_count(len(examples), 'recorded run')} in {', '.join(map(str, traces))}")
    studied = list(learn_from_examples(found, read_lock(file), examples, request))
    if rows := [_make_row(each) for each in studied if each.score]:
        console.result(format_text_table(TABLE_HEADINGS, rows))
    for each in studied:
        if each.trouble:
            console.note(f"{each.hole.name}: {each.trouble}")
        elif each.lessons.unusable:
            console.note(
                f"{each.hole.name}: some runs cannot be used: {'; '.join(each.lessons.unusable)}"
            )
    ctx.exit(int(any(each.score and each.score.wrong for each in studied)))


def _make_row(studied: LearningResult) -> tuple[str, ...]:
    return (
        studied.hole.name,
        studied.hole.mode,
        str(len(studied.lessons.all)),
        str(studied.first),
        str(studied.score),
        str(studied.attempts),
    )
