"""`njc static --learn traces/`: make the code of static blocks better by recorded runs."""

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
    pass_console,
    project_flags,
    project_for,
    speaking,
)
from njc.commands.lock import named
from njc.comparison.text import table
from njc.learning.study import Studied, examples_at, study
from njc.project.report import counted
from njc.project.units import units_of
from njc.static.build import Request
from njc.static.files import keep_attempts, lock_file, save_lock, static_files
from njc.static.lock import read_lock

HEADINGS = ("block", "mode", "runs", "before", "learned", "replies")


@click.command("static")
@click.argument("places", nargs=-1, metavar="[SRC | BLOCK]...")
@click.option(
    "--learn",
    "traces",
    multiple=True,
    required=True,
    type=click.Path(exists=True, path_type=Path),
    metavar="TRACES",
    help="Examples of live runs, made with NJC_EXAMPLES=FILE; a file or a folder, also several.",
)
@MODE
@ATTEMPTS
@project_flags
@speaking
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
    """Hold the code of static blocks against recorded runs, and have it mended until it does the same.

    The best code is kept in njc.lock, with its score, beside the code that was not learned. Exits with 1 if
    some code is still wrong on a run.
    """
    sources = [Path(each) for each in places if ":" not in each]
    project = project_for(sources, {"mode": "static", **{k: v for k, v in flags.items() if v}})
    units = units_of(sources, project)
    file = lock_file(units, project)
    found = static_files(units, project)
    gaps = [gap for each in found for gap in each.gaps]
    chosen = {named(each, gaps).name for each in places if ":" in each}
    request = Request(
        attempts=attempts,
        today=lambda: time.strftime("%Y-%m-%d"),
        keep=lambda lock: save_lock(lock, file),
        keep_attempts=lambda gap, result: keep_attempts(gap, result, file.parent),
        told=console.note,
        only=lambda gap: not chosen or gap.name in chosen,
    )
    examples = examples_at(traces)
    console.note(f"{counted(len(examples), 'recorded run')} in {', '.join(map(str, traces))}")
    studied = list(study(found, read_lock(file), examples, request))
    if rows := [_row(each) for each in studied if each.score]:
        console.result(table(HEADINGS, rows))
    for each in studied:
        if each.trouble:
            console.note(f"{each.gap.name}: {each.trouble}")
        elif each.lessons.unusable:
            console.note(
                f"{each.gap.name}: some runs cannot be used: {'; '.join(each.lessons.unusable)}"
            )
    ctx.exit(int(any(each.score and each.score.wrong for each in studied)))


def _row(studied: Studied) -> tuple[str, ...]:
    return (
        studied.gap.name,
        studied.gap.mode,
        str(len(studied.lessons.all)),
        str(studied.first),
        str(studied.score),
        str(studied.attempts),
    )
