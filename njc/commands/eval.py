"""`njc eval mail.njpy:route cases.jsonl`: a function's pass rates on cases, form by form."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from njc.commands.terminal.console import Console
from njc.commands.terminal.flags import (
    CASE_JOBS,
    CASES,
    MODES,
    REPEATS,
    TARGET,
    parse_modes,
    with_console,
)
from njc.commands.terminal.status_line import showing_progress
from njc.measure.calibration import format_calibration
from njc.measure.cases.case_file import read_cases
from njc.measure.cases.runner import CaseResult, Form, run_cases, setting_variable
from njc.measure.cases.summary import (
    Summary,
    compare_forms,
    format_failures,
    format_table,
    summarize,
)
from njc.project.report import format_count
from njc.static.cases import name_case_file
from njc.target import get_target, load_again, make_absolute
from njrt.block.session.layered_model import find_recorder
from njrt.block.session.settings import get_settings
from njrt.errors import ConfigurationError


@click.command("eval")
@TARGET
@CASES
@REPEATS
@click.option("--model", "models", multiple=True, metavar="A,B", help="Models to compare.")
@MODES
@click.option("--gate", type=click.FloatRange(0, 1), help="Exit 1 if a smaller share passes.")
@click.option("--decide", is_flag=True, help="Compare with replies as probabilities.")
@CASE_JOBS
@with_console
def command(
    console: Console,
    target: str,
    cases: Path | None,
    repeats: int,
    models: Sequence[str],
    modes: str | None,
    gate: float | None,
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
    names = list(dict.fromkeys(filter(None, ",".join(models).split(",")))) or [""]
    caches = cases.parent / ".njc_cache" / "eval"
    is_recorded = _is_recorded(models)
    read = read_cases(cases)
    # `live` is the last, because other modes fail at once without code.
    chosen = sorted(parse_modes(modes), key="live".__eq__) if modes else [""]
    decides = (False, True) if flags["decide"] else (None,)
    planned = [
        (case, None if is_recorded else caches / str(repeat))
        for repeat in range(1, repeats + 1)
        for case in read
    ]
    summaries: list[Summary] = []
    total = len(planned) * len(chosen) * len(names) * len(decides)
    with showing_progress(console, total) as update:
        for mode in chosen:
            with setting_variable("NJC_MODE", mode):
                loaded = load_again(target) if mode else get_target(target)
                for form in [Form(name, mode, decide) for name in names for decide in decides]:
                    results: list[CaseResult] = []
                    for result in run_cases(loaded, form, planned, flags["jobs"]):
                        results.append(result)
                        update(len(summaries) * len(planned) + len(results), "running")
                    summaries.append(summarize(form, read, results))
    times = f", {repeats} times" if repeats > 1 else ""
    title = f"{shown} on {format_count(len(read), 'case')}{times}"
    console.result(f"{title}\n\n{format_table(summaries)}")
    more = [format_failures(summaries)]
    more += [format_calibration(each.name, each.answers) for each in summaries]
    if flags["decide"]:
        more += map(compare_forms, summaries[::2], summaries[1::2])
    for text in filter(None, more):
        console.result(f"\n{text}")
    return int(any(it.passes.rate < (gate or 0) for it in summaries))


def _is_recorded(models: Sequence[str]) -> bool:
    """Return whether replies come from a recording, which compares no `models`."""
    is_recorded = find_recorder(get_settings(), os.environ) is not None
    if is_recorded and models:
        raise ConfigurationError(
            "--model compares models, and a recording has the replies of one; run the command for "
            "each with NJC_REPLACE_MODEL==MODEL and a recording of its own in NJC_RECORD"
        )
    return is_recorded
