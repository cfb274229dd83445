"""`njc eval mail.njpy:route cases.jsonl`: a function's pass rates on cases, form by form."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import groupby, product
from pathlib import Path
from typing import Any

import click

from njc.commands.terminal.console import Console, ProgressLine
from njc.commands.terminal.flags import (
    CASE_JOBS,
    CASES,
    MODES,
    REPEATS,
    TARGET,
    parse_modes,
    with_console,
)
from njc.measure.calibration import format_calibration
from njc.measure.cases.case_file import read_cases
from njc.measure.cases.runner import CaseResult, Form, PlannedRun, run_cases, setting_variable
from njc.measure.cases.summary import (
    compare_forms,
    format_failures,
    format_table,
    format_warnings,
    summarize,
)
from njc.measure.pass_rates import parse_gate
from njc.project.report import format_count
from njc.static.cases import name_case_file
from njc.target import get_target, load_again, make_absolute
from njrt.block.session.layered_model import find_recorder
from njrt.block.session.settings import get_settings
from njrt.log.cache import REPLIES_FILE, open_cache_file


@click.command("eval")
@TARGET
@CASES
@REPEATS
@click.option("--model", "models", multiple=True, metavar="A,B", help="Models to compare.")
@MODES
@click.option("--gate", "gates", multiple=True, metavar="pass^K>=X", help="Fail if fewer pass.")
@click.option("--decide", is_flag=True, help="Compare with replies as probabilities.")
@CASE_JOBS
@click.option("--fresh", is_flag=True, help="Discard the replies of earlier runs.")
@with_console
def command(
    console: Console,
    target: str,
    cases: Path | None,
    repeats: int,
    models: Sequence[str],
    modes: str | None,
    gates: Sequence[str],
    **flags: Any,
) -> int:
    """Call FUNCTION for each case of the file CASES, and count what passes.

    Without CASES, the file PROGRAM.FUNCTION.cases.jsonl beside the program is read.
    A case is a JSON object: {"inputs": {...}, "expect": RESULT}, or with "after" or "check".
    Replies are kept, and an interrupted command continues with the missing ones.
    """
    shown = target
    # The program may change the working directory.
    target = make_absolute(target)
    program, _, function = target.rpartition(":")
    if not (program and function):
        get_target(target)  # it says what is missing
    cases = (cases or name_case_file(Path(program), function)).absolute()
    conditions = [parse_gate(gate, repeats) for gate in gates]
    names = list(dict.fromkeys(filter(None, ",".join(models).split(",")))) or [""]
    caches = cases.parent / ".njc_cache" / "eval"
    if flags["fresh"]:
        for file in caches.glob(f"*/{REPLIES_FILE}"):
            open_cache_file(file.parent).clear("")
    is_recorded = find_recorder(get_settings(), os.environ) is not None
    numbered = read_cases(cases)
    chosen: list[str] = [*parse_modes(modes)] if modes else [""]
    decides = (False, True) if flags["decide"] else (None,)
    forms = [Form(*form) for form in product(names, chosen, decides)]
    forms.sort(key=lambda form: chosen.index(form.mode))
    planned = [
        PlannedRun(case, form, repeat, None if is_recorded else caches / str(repeat))
        for form in forms
        for repeat in range(1, repeats + 1)
        for case in numbered
    ]
    results = _run_planned(console, target, planned, flags["jobs"])
    summaries = [summarize(form, numbered, results) for form in forms]
    times = f", {repeats} times" if repeats > 1 else ""
    title = f"{shown} on {format_count(len(numbered), 'case')}{times}"
    console.result(f"{title}\n\n{format_table(summaries)}")
    more = [format_failures(summaries), format_warnings(summaries)]
    more += [format_calibration(each.name, each.answers) for each in summaries]
    if flags["decide"]:
        more += map(compare_forms, summaries[::2], summaries[1::2])
    for text in filter(None, more):
        console.result(f"\n{text}")
    checked = [(gate, it) for gate in conditions for it in summaries]
    console.note("\n".join(gate.describe(it.name, it.passes) for gate, it in checked))
    return int(not all(gate.holds(it.passes) for gate, it in checked))


def _run_planned(
    console: Console, target: str, planned: Sequence[PlannedRun], jobs: int
) -> list[CaseResult]:
    """Run the cases mode by mode; `live` is the last, because others fail at once without code."""
    results: list[CaseResult] = []
    progress = ProgressLine(console, "running")
    ordered = sorted(planned, key=lambda run: run.form.mode == "live")
    for mode, runs in groupby(ordered, key=lambda run: run.form.mode):
        with setting_variable("NJC_MODE", mode):
            loaded = load_again(target) if mode else get_target(target)
            for result in run_cases(loaded, list(runs), jobs):
                results.append(result)
                progress(len(results), len(planned))
    return results
