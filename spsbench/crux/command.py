"""`spsbench crux`: predicting outputs, inputs and states of the functions of CruxEval.

spsbench crux --data cruxeval.jsonl --model openai/local --sample 100 --out crux.jsonl
spsbench crux --data cruxeval.jsonl --model openai/local --tasks states --states 50
spsbench crux --data cruxeval.jsonl --score generations_output.json
spsbench crux --report crux.jsonl > crux.md
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spsbench import flags

if TYPE_CHECKING:
    from spsbench.crux.problems import CruxProblem
    from spsbench.crux.results import CruxRun, GenerationsResult
    from spsbench.trials.workers import Workers


@click.command("crux")
@click.option("--data", type=flags.EXISTING_FILE, help="Problems in the format of CruxEval.")
@flags.names("--tasks", "output,input,states", "What to ask for.")
@flags.names("--forms", "direct,action,path,trace", "How to ask for it.")
@flags.model_option()
@flags.sample_option("Problems (default: all).")
@flags.value("--states", 100, "Steps for each action.")
@flags.seed_option(1, "Seed of the sample.")
@flags.repeats_option(1)
@flags.jobs_option("Questions at a time.")
@flags.out_option("crux.jsonl", "questions")
@flags.temperature_option(0.0)
@flags.value("--max-steps", 40, "Replies on one path.")
@flags.reply_seconds_option(default=120.0)
@flags.executor_option("threads", "Ask from here or from a Dask cluster.")
@flags.scheduler_option("Scheduler of the cluster.")
@click.option(
    "--score",
    type=flags.EXISTING_FILE,
    multiple=True,
    metavar="GENERATIONS",
    help="Score this file; ask nothing.",
)
@click.option(
    "--task",
    type=click.Choice(["output", "input"]),
    help="What --score has (default: by its name).",
)
@flags.note_option("Say this in the report.")
@click.option("--report", type=flags.EXISTING_FILE, help="Print the report on results as Markdown.")
@click.pass_context
def command(ctx: click.Context, /, **values: Any) -> None:
    """Ask a model for outputs, inputs and states.

    The same command again goes on where the results end. --score and --report ask nothing.
    """
    from spsbench.crux.results import CRUX_KINDS
    from spsbench.crux.tables import render_crux_report
    from spsbench.journal import compute_digest, read_results_file

    if values["report"] is not None:
        file = values["report"]
        results = read_results_file(file, CRUX_KINDS)
        digest = compute_digest(file.read_bytes())
        click.echo(render_crux_report(results, file.name, digest), nl=False)
    elif values["data"] is None:
        raise click.UsageError("--data names the file of problems, such as cruxeval.jsonl")
    elif values["score"]:
        score_files(values)
    else:
        ctx.exit(ask_questions(values))


def read_data(file: Path) -> tuple[dict[str, CruxProblem], str]:
    """Return the problems of a file, and its digest."""
    from spsbench.crux.problems import read_problems
    from spsbench.journal import naming, read_data_file

    lines, digest = read_data_file(file)
    with naming(file):
        return read_problems(lines), digest


def score_files(values: Mapping[str, Any]) -> None:
    """Score files of generations, and append the scores to the results file if one is named."""
    from spsbench.crux.results import CRUX_KINDS
    from spsbench.crux.tables import render_crux_text
    from spsbench.journal import Journal
    from spsbench.results import Results

    problems, _ = read_data(values["data"])
    found = [score_file(file, values["task"], problems) for file in values["score"]]
    context = click.get_current_context()
    if context.get_parameter_source("out") is click.core.ParameterSource.COMMANDLINE:
        with Journal(values["out"], CRUX_KINDS) as journal:
            for result in found:
                journal.append(result)
    click.echo(render_crux_text(Results(tuple(found))))


def score_file(
    file: Path, task: str | None, problems: Mapping[str, CruxProblem]
) -> GenerationsResult:
    """Score a file of generations."""
    from spsbench.crux.judge import Judge
    from spsbench.crux.results import GenerationsResult
    from spsbench.crux.scoring import read_generations, score_generations
    from spsbench.journal import compute_digest, naming

    named = [name for name in ("output", "input") if name in file.name]
    if task is None and len(named) != 1:
        raise click.UsageError(f"say by --task whether {file.name} has outputs or inputs")
    kind: Any = task or named[0]
    text = file.read_text(encoding="utf-8", errors="replace")
    label = f"{file.name}, {len(problems)} problems"
    with (
        naming(file),
        Judge() as judge,
        click.progressbar(length=len(problems), label=label, file=sys.stderr) as bar,
    ):
        generations = read_generations(text)
        scores = score_generations(generations.raw_generations, problems, kind, judge, bar.update)
    published, differing = generations.raw_scored_generations, None
    if published is not None:
        pairs = scores.passed.items()
        differing = sum(tuple(published.get(name, ())) != passed for name, passed in pairs)
    return GenerationsResult(
        task=kind,
        file=file.name,
        sha256=compute_digest(text.encode()),
        problems=len(scores.passed),
        answers=sum(map(len, generations.raw_generations.values())),
        pass_at_1=scores.pass_at_1,
        pass_at_5=scores.pass_at_5,
        published_pass_at_1=generations.pass_at_1,
        published_pass_at_5=generations.pass_at_5,
        differing=differing,
    )


def ask_questions(values: Mapping[str, Any]) -> int:
    """Ask the remaining questions and print the tables; returns the exit code."""
    from spsbench.crux.asking import answer_job, list_jobs
    from spsbench.crux.results import CRUX_KINDS
    from spsbench.crux.tables import render_crux_text
    from spsbench.trials.experiment import Experiment, run_experiment
    from spsbench.trials.workers import Workers

    workers = Workers(values["jobs"], values["scheduler"])
    problems, digest = read_data(values["data"])
    run = build_run(values, problems, digest, workers)
    jobs = list_jobs(run, problems, values["seconds"], os.environ.get("NJC_BASE_URL"))
    compared = ("data", "seed", "temperature", "max_steps")
    questions = Experiment(
        "questions", values["out"], CRUX_KINDS, jobs, answer_job, run, compared, workers
    )
    return run_experiment(questions, render_crux_text)


def build_run(
    values: Mapping[str, Any], problems: Mapping[str, CruxProblem], digest: str, workers: Workers
) -> CruxRun:
    """Return the run that the flags request, of the problems of a file with this digest."""
    from spsbench.crux.problems import STRATA
    from spsbench.crux.results import CruxRun
    from spsbench.trials.command import refuse_unknown_model

    if values["model"] is None:
        raise click.UsageError("--model names a model, such as openai/NAME, or `scripted`")
    flags.check_executor(values["executor"], values["scheduler"])
    refuse_unknown_model(values["model"], os.environ, None)
    tasks = flags.list_names(values["tasks"], ("output", "input", "states"), "task")
    forms: Any = flags.list_names(values["forms"], ("direct", "action", "path", "trace"), "form")
    return CruxRun(
        tasks=tasks,
        forms=forms,
        problems=len(problems),
        data=digest,
        sample=min(values["sample"] or len(problems), len(problems)),
        states=values["states"] if "states" in tasks else 0,
        strata=STRATA,
        **{
            name: values[name]
            for name in ("model", "seed", "repeats", "temperature", "max_steps", "note")
        },
        **workers.describe_start(),
    )
