"""`njc tune mail.njpy:route cases.jsonl`: choose the form of each block by its pass rate on cases."""

from __future__ import annotations

import os
from pathlib import Path

import click

from njc.commands.terminal.console import Console
from njc.commands.terminal.flags import (
    CASE_JOBS,
    CASES,
    COUNT,
    FILE,
    REPEATS,
    TARGET,
    refuse_options,
    with_console,
)
from njc.evaluation.cases.case_file import NumberedCase, read_cases
from njc.evaluation.cases.runner import CaseResult, CaseResults
from njc.evaluation.cases.tuner import (
    Tuner,
    compare_held_out,
    describe_sure_runs,
    is_kept,
    list_sure_runs,
    split_cases,
)
from njc.project.config import find_project
from njc.project.outputs import check_output
from njc.project.tuned import find_lock_path
from njc.project.units import SUFFIX, make_unit
from njc.target import get_target, make_absolute
from njrt.errors import ConfigurationError

MINIMUM_CASES = 10
"""The minimum for each half; with fewer cases, any difference may be chance."""


@click.command("tune")
@TARGET
@CASES
@click.option("--model", default="", metavar="NAME", help="The model (default: configured).")
@click.option("--calls", type=COUNT, default=2000, metavar="N", help="Model calls to make at most.")  # fmt: skip
@REPEATS
@click.option("--tokens", type=click.FloatRange(min=1), default=2.0, metavar="X", help="Tokens at most, as a multiple.")  # fmt: skip
@click.option("--confidence", type=click.FloatRange(0.5, 0.999), default=0.95, help="To keep a form.", show_default=True)  # fmt: skip
@CASE_JOBS
@click.option("--second", metavar="NAME", help="A model for answers that are not sure.")
@click.option("--errors", type=click.FloatRange(0, 0.5), default=0.05, metavar="X", help="With --second: wrong answers to allow.")  # fmt: skip
@click.option("--held-out", "check_file", type=FILE, metavar="FILE", help="Cases to check on (default: half of CASES).")  # fmt: skip
@click.option("--check", is_flag=True, help="Do not write njc.lock.")
@click.option("-o", "--out", type=FILE, help="File of results (default: CASES.tuning.jsonl).")
@with_console
def command(
    console: Console,
    target: str,
    cases: Path,
    model: str,
    calls: int,
    repeats: int,
    tokens: float,
    confidence: float,
    jobs: int,
    second: str | None,
    errors: float,
    check_file: Path | None,
    check: bool,
    out: Path | None,
) -> None:
    """Choose the form of each block of FUNCTION by its pass rate on CASES.

    Forms are compared on half of the cases: reasoning before the answer, code, examples, votes. The best one is
    compared with the program as it is on the other half, and written into njc.lock if it is better there. Results are
    kept, and an interrupted command continues.
    """
    if second is None:
        refuse_options("needs --second", "errors")
    loaded = get_target(make_absolute(target))
    if loaded.program.suffix != SUFFIX:
        raise ConfigurationError(f"{target} is not in a {SUFFIX} file")
    project = find_project(loaded.program, os.environ)
    unit = make_unit(loaded.program, project)
    out = out or cases.with_name(f"{cases.stem}.tuning.jsonl")
    if not check:  # so that calls are not paid for in vain
        check_output(find_lock_path(unit, project))
    check_output(out, loaded.program, cases, *filter(None, [check_file]))
    choosing, held_out = _read_parts(cases, check_file)
    tuner = Tuner(
        console.note,
        make_absolute(target),
        unit,
        project,
        CaseResults(out, CaseResult),
        model,
        repeats,
        jobs,
        calls,
        reserved=(2 + (second is not None)) * len(held_out) * repeats,
    )
    console.note(f"choosing on {len(choosing)} cases, checking on {len(held_out)} others")
    chosen = tuner.choose(choosing, tokens)
    if second is not None:
        chosen = tuner.add_second(choosing, chosen, second, errors)
    if not chosen:
        console.result("no form is better than the program as it is; nothing is written")
        return
    before = tuner.run({}, held_out)
    after = tuner.run(chosen, held_out)
    evidence = compare_held_out(before, after, tuner.count_looks(held_out))
    for instruction, form in chosen.items():
        console.result(f"{tuner.places[instruction]}: {form}")
    console.result(f"held out: {evidence}")
    if any("second_model" in form.options for form in chosen.values()):
        console.result(describe_sure_runs(list_sure_runs(after), len(held_out) * repeats))
    if not is_kept(evidence, confidence):
        console.result(f"not better with a confidence of {confidence:g}; nothing is written")
    elif check:
        console.result("better; nothing is written (--check)")
    else:
        console.result(f"written to {tuner.write(chosen, evidence)}")


def _read_parts(
    cases: Path, check_file: Path | None
) -> tuple[list[NumberedCase], list[NumberedCase]]:
    """Return the cases to choose on and to check on; raises ConfigurationError for too few, or a case in both."""
    if check_file is None:
        choosing, held_out = split_cases(read_cases(cases))
    else:
        choosing, held_out = read_cases(cases), read_cases(check_file)
        if shared := {case.digest for case in choosing} & {case.digest for case in held_out}:
            found = next(case for case in held_out if case.digest in shared)
            raise ConfigurationError(f"{check_file}:{found.line}: this case is also in {cases}")
    if min(len(choosing), len(held_out)) < MINIMUM_CASES:
        raise ConfigurationError(
            f"there are {len(choosing)} cases to choose a form on and {len(held_out)} to check it on; "
            f"each needs at least {MINIMUM_CASES}"
        )
    return choosing, held_out
