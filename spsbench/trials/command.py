"""`spsbench run`: run trials and write their results.

spsbench run --methods direct,manual --programs menu,graph --model openai/gpt-4.1 --out results.jsonl
spsbench run --methods all --model openai/gpt-4.1 --repeats 5 --jobs 8 --limit-cost 20
spsbench run --methods all --model scripted
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from spsbench import flags

if TYPE_CHECKING:
    from spsbench.results import BenchmarkRun
    from spsbench.trials.experiment import Experiment
    from spsbench.trials.playing import Job
    from spsbench.trials.progress import RunProgress, ShowResult


@click.command("run")
@flags.names("--methods", "all", "Methods by name, or all.", show_default=False)
@flags.names("--programs", "all", "Programs by name, or all.", show_default=False)
@flags.model_option(required=True)
@flags.repeats_option(5)
@flags.jobs_option("Parallel trials (default: 1).")
@flags.out_option("results.jsonl", "trials")
@flags.seconds_option("Seconds of a trial, with its build.")
@flags.value("--effects", 300, "Effects of one run of a block.")
@flags.value("--max-calls", 300, "Model calls of one run of a block.")
@flags.temperature_option()
@click.option(
    "--limit-cost",
    type=flags.POSITIVE_FLOAT,
    metavar="USD",
    help="Stop at this cost of all trials.",
)
@click.option("--cache", type=flags.FOLDER, metavar="FOLDER", help="Cache replies in this folder.")
@click.option(
    "--keep", type=flags.FOLDER, metavar="FOLDER", help="Keep traces, output and lock of trials."
)
@flags.executor_option("processes", "Run trials here or on a Dask cluster.")
@flags.scheduler_option("Scheduler of the cluster.")
@click.option("--plain", is_flag=True, help="Print lines in place of a table.")
@click.pass_context
def command(ctx: click.Context, /, plain: bool, **flag_values: Any) -> None:
    """Run trials: programs under methods, repeat by repeat.

    Each trial is a process of its own. The same command again goes on where the results end.
    """
    from spsbench.trials.experiment import run_experiment
    from spsbench.trials.progress import show_message

    run = build_run(flag_values, show_message)
    ctx.exit(run_experiment(build_experiment(run, flag_values, plain)))


def build_run(values: dict[str, Any], show_message: Callable[[str], None]) -> BenchmarkRun:
    """Return the run that the flags request, without the methods that the model does not support."""
    from spsbench.methods import METHODS
    from spsbench.results import BenchmarkRun, TrialLimits
    from spsbench.script import SCRIPTED
    from spsbench.suite import TASK_NAMES
    from spsbench.trials.workers import Workers

    asked = [METHODS[name] for name in flags.list_names(values["methods"], (*METHODS,), "method")]
    programs = flags.list_names(values["programs"], TASK_NAMES, "program")
    flags.check_executor(values["executor"], values["scheduler"])
    refuse_unknown_model(values["model"], os.environ, values["limit_cost"])
    is_scripted = values["model"] == SCRIPTED  # a script cannot write code for every input
    methods = [each for each in asked if not is_scripted or each.mode in ("live", "auto")]
    if without := [method.name for method in asked if method not in methods]:
        show_message(f"left out, because a script cannot write their code: {', '.join(without)}")
    return BenchmarkRun(
        programs=programs,
        methods=tuple(method.name for method in methods),
        limits=TrialLimits(values["seconds"], values["effects"], values["max_calls"]),
        **{name: values[name] for name in ("model", "repeats", "temperature")},
        **Workers(values["jobs"], values["scheduler"]).describe_start("processes"),
    )


def build_experiment(run: BenchmarkRun, values: dict[str, Any], plain: bool) -> Experiment[Job]:
    """Return the trials of a run, with their results file."""
    from spsbench.results import BENCHMARK_KINDS
    from spsbench.trials.executing import execute_job, list_trials, refuse_other_programs
    from spsbench.trials.experiment import Experiment
    from spsbench.trials.playing import Job
    from spsbench.trials.workers import Workers

    base_url = os.environ.get("NJC_BASE_URL")
    cache, keep = (values[name] and str(values[name].absolute()) for name in ("cache", "keep"))
    return Experiment(
        "trials",
        values["out"],
        BENCHMARK_KINDS,
        [
            Job(trial, run.limits, run.temperature, base_url, cache, keep)
            for trial in list_trials(run.programs, run.methods, run.model, run.repeats)
        ],
        execute_job,
        run,
        ("model", "temperature", "limits"),
        Workers(values["jobs"], values["scheduler"]),
        refuse_other_programs,
        values["limit_cost"],
        choose_display(plain or not sys.stdout.isatty()),
    )


def refuse_unknown_model(model: str, environ: Mapping[str, str], limit_cost: float | None) -> None:
    """Raise a `UsageError` for an unknown model, or one without a price if cost is limited."""
    from njrt.errors import NaturalError
    from njrt.messages import Usage
    from njrt.models.choose import choose_model
    from njrt.models.prices import compute_cost
    from njrt.options import Options
    from spsbench.script import SCRIPTED

    if model == SCRIPTED:
        return
    base_url = environ.get("NJC_BASE_URL")
    try:
        choose_model(Options(model=model, base_url=base_url), environ)
    except NaturalError as error:
        raise click.UsageError(f"--model: {error}; or use no model: `--model scripted`") from None
    if limit_cost is not None and (base_url or compute_cost(model, Usage()) is None):
        raise click.UsageError(f"--limit-cost: no price is known for {model}; leave the limit out")


def choose_display(plain: bool) -> Callable[[RunProgress], AbstractContextManager[ShowResult]]:
    """Return how progress is shown: as a table if rich is installed, else as lines."""
    from spsbench.trials import progress

    lines = partial(progress.show_lines, echo=click.echo)
    if plain:
        return lines
    try:
        import rich  # noqa: F401
    except ImportError:
        return lines
    return progress.show_table
