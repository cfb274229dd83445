"""`spsbench repair` and `spsbench repair-report`: the repair of buggy programs by a model.

spsbench repair --data humanevalfix.jsonl --model openai/gpt-4.1 --samples 5 --out repairs.jsonl
spsbench repair --data quixbugs.jsonl --conditions trace,test --sample 20 --seed 1 --model openai/local --out r.jsonl
spsbench repair --data quixbugs.jsonl --rescore r.jsonl             test the recorded fixes again, without a model
spsbench repair-report r.jsonl --out report.md
"""

from __future__ import annotations

import os
from collections import Counter
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import click

from spsbench import flags
from spsbench.report.results_report import ResultsReport, report_command

if TYPE_CHECKING:
    from spsbench.repair.demonstrations import Turn
    from spsbench.repair.problems import RepairProblem
    from spsbench.repair.results import Condition, RepairResult, RepairRun
    from spsbench.results import Results
    from spsbench.trials.workers import Workers


@click.command("repair")
@click.option(
    "--data", multiple=True, required=True, type=flags.EXISTING_FILE, help="Problems (JSON Lines)."
)
@flags.names("--conditions", "trace,test,neither", "What is shown.")
@flags.model_option()
@flags.value("--samples", 1, "Repairs of a problem, by condition.")
@flags.sample_option("Only N problems, at random.")
@flags.seed_option(0, "Seed of --sample.")
@flags.value("--calls", 1, "Calls of a repair.")
@flags.value("--tokens", None, "Tokens of a repair, in and out.")
@flags.value("--reply-tokens", 1024, "Longest reply.")
@flags.temperature_option()
@flags.reply_seconds_option(default=600.0)
@flags.value("--test-seconds", 5.0, "Limit of tests.", flags.POSITIVE_FLOAT)
@flags.jobs_option("Parallel repairs (default: 1).")
@flags.out_option("repairs.jsonl", "repairs")
@click.option(
    "--rationales", type=flags.EXISTING_FILE, help="Results with rationales of another model."
)
@click.option(
    "--turn",
    "turns",
    multiple=True,
    type=flags.EXISTING_FILE,
    help="Right repairs for turn1; again: turn2, turn3.",
)
@click.option(
    "--turn-data", multiple=True, type=flags.EXISTING_FILE, help="The problems of these results."
)
@flags.note_option()
@click.option("--rescore", type=flags.EXISTING_FILE, help="Only test the fixes of this file again.")
@flags.scheduler_option()
@click.pass_context
def command(ctx: click.Context, /, rescore: Path | None, **values: Any) -> None:
    """Have a model repair buggy programs, and test its fixes.

    DATA are files of HumanEvalFix or QuixBugs. The conditions are trace (the failing test, and the steps of its run
    as comments), test (the failing test), neither, rationale (the failing test, and a rationale of
    --rationales), and turn1 (as trace, after two right repairs of --turn). The same command continues where the
    results end.
    """
    from spsbench.repair.problems import sample_problems
    from spsbench.repair.results import REPAIR_KINDS
    from spsbench.repair.solving import execute_repair, list_differences, list_jobs
    from spsbench.repair.table import REPORT
    from spsbench.results import InputError
    from spsbench.trials.experiment import Experiment, run_experiment
    from spsbench.trials.workers import Workers

    out = values["out"]
    problems, digests = _read_data(values["data"])
    if rescore is not None:
        _rescore(rescore, problems, values["test_seconds"])
        return
    workers = Workers(values["jobs"], values["scheduler"])
    rationales, writer = _read_rationales(values["rationales"])
    run, turns = _build_run(values, len(problems), digests, writer, workers)
    chosen = sample_problems(problems, values["sample"], Random(values["seed"]).random)
    if "rationale" in run.conditions and not any(rationales.get(each.name) for each in chosen):
        raise click.UsageError(
            f"{values['rationales']} has no rationale for a problem of the sample; use the same --data, --sample "
            "and --seed"
        )

    def refuse(found: Results) -> None:
        for difference in list_differences(run, rationales, found):
            raise InputError(f"{out} has {difference}; name another file by --out")

    base_url = os.environ.get("NJC_BASE_URL")
    jobs = list_jobs(run, chosen, rationales, turns, values["seconds"], base_url)
    repairs = Experiment(
        "repairs", out, REPAIR_KINDS, jobs, execute_repair, run, (), workers, refuse
    )
    ctx.exit(run_experiment(repairs, REPORT.format_text))


def _read_data(paths: tuple[Path, ...]) -> tuple[list[RepairProblem], dict[str, str]]:
    """Return the problems of all files, and the digest of each file."""
    from spsbench.journal import naming, read_data_file
    from spsbench.repair.problems import parse_repair_problems
    from spsbench.results import InputError

    problems: list[RepairProblem] = []
    digests = {}
    for path in paths:
        lines, digests[path.name] = read_data_file(path)
        with naming(path):
            problems += parse_repair_problems(lines)
    for name, count in Counter(problem.name for problem in problems).items():
        if count > 1:
            raise InputError(f"the data has {name} {count} times")
    return problems, digests


def _read_results(path: Path) -> tuple[RepairResult, ...]:
    from spsbench.journal import read_results_file
    from spsbench.repair.results import REPAIR_KINDS, RepairResult

    return read_results_file(path, REPAIR_KINDS).select(RepairResult)


def _build_run(
    values: dict[str, Any], size: int, digests: dict[str, str], writer: str, workers: Workers
) -> tuple[RepairRun, dict[Condition, Turn]]:
    """Return the run that the flags request, of a data set of this size, and the earlier turns that it shows."""
    from spsbench.repair.problems import STRATA
    from spsbench.repair.results import CONDITIONS, RepairRun, RepairSettings

    if values["model"] is None:
        raise click.UsageError("nothing says which model repairs: --model NAME, or `scripted`")
    conditions: Any = flags.list_names(values["conditions"], CONDITIONS, "condition")
    if ("rationale" in conditions) != (values["rationales"] is not None):
        raise click.UsageError("the condition rationale and --rationales FILE go together")
    turns = _read_turns(values, conditions)
    settings = ("calls", "tokens", "reply_tokens", "temperature", "test_seconds")
    run = RepairRun(
        conditions=conditions,
        settings=RepairSettings(**{name: values[name] for name in settings}),
        data=digests,
        problems=size,
        rationales=writer,
        turns={name: turn.digest for name, turn in turns.items()},
        strata=STRATA,
        **{name: values[name] for name in ("model", "samples", "sample", "seed", "note")},
        **workers.describe_start("processes"),
    )
    return run, turns


def _read_turns(values: dict[str, Any], conditions: tuple[Condition, ...]) -> dict[Condition, Turn]:
    """Read the right repairs of earlier turns."""
    from spsbench.journal import compute_digest
    from spsbench.repair.demonstrations import Turn, read_demonstrations
    from spsbench.repair.results import TURNS

    files = dict(zip(TURNS, values["turns"], strict=False))
    if len(values["turns"]) > len(TURNS):
        raise click.UsageError(f"--turn can be given {len(TURNS)} times")
    if set(files) != set(conditions) & set(TURNS):
        raise click.UsageError(
            "the conditions turn1, turn2, turn3 and --turn FILE go together, in order"
        )
    if not files:
        return {}
    if not values["turn_data"]:
        raise click.UsageError("--turn needs the problems of its results: --turn-data FILE")
    problems = {problem.name: problem for problem in _read_data(values["turn_data"])[0]}
    turns = {
        name: Turn(
            compute_digest(path.read_bytes()),
            read_demonstrations(_read_results(path), problems, values["test_seconds"]),
        )
        for name, path in files.items()
    }
    for name, turn in turns.items():
        if not turn.demonstrations:
            raise click.UsageError(f"{files[name]} has no right repair of a problem of --turn-data")
    return turns


def _read_rationales(path: Path | None) -> tuple[dict[str, str], str]:
    """Return the first rationale of each problem, passed or not, and the models that wrote them."""
    if path is None:
        return {}, ""
    rationales: dict[str, str] = {}
    results = _read_results(path)
    for result in sorted(results, key=lambda result: (result.sample, result.condition != "trace")):
        for reply in result.replies[:1]:
            rationales.setdefault(result.problem, reply.rationale)
    return rationales, ", ".join(sorted({result.model for result in results}))


def _rescore(path: Path, problems: list[RepairProblem], seconds: float) -> None:
    """Test the fixes of a file again; a verdict that differs is an error."""
    from spsbench.repair.solving import find_differing_verdicts
    from spsbench.results import InputError

    names = {problem.name for problem in problems}
    results = [result for result in _read_results(path) if result.problem in names]
    if not results:
        raise InputError(f"{path}: it has no repair of a problem of --data; name another file")
    show_line = partial(click.echo, err=True)
    differing = list(find_differing_verdicts(results, problems, seconds, show_line))
    for result in differing:
        recorded = "passes" if result.passed else "fails"
        click.echo(f"{result.problem} {result.condition} #{result.sample}: recorded as {recorded}")
    if differing:
        raise click.ClickException(f"{len(differing)} of {len(results)} verdicts differ")
    click.echo(f"all {len(results)} verdicts are as recorded")


@report_command("repair-report", "Write Markdown into this file.")
def report() -> ResultsReport:
    """Report the results of `spsbench repair`."""
    from spsbench.repair.table import REPORT

    return REPORT
