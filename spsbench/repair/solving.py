"""One repair: a model corrects a program until its tests pass or the budget is used up.

    execute_repair(RepairJob(trial, problem, settings, base_url)) -> RepairResult(passed=True, ...)

The loop is in `njc.measure.repair.loop`; the tests run in a process with limits.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import click

from njc.measure.repair.annotate import remove_step_comments
from njc.measure.repair.loop import Proposal, RefusedProposal, RepairBudget, repair_code
from njc.measure.repair.reply import complete_program, find_program, read_rationale
from njc.measure.repair.testing import FailedTests, PassedTests, TestOutcome, run_tests
from njc.static.generate import NO_CODE
from njrt.errors import ModelError
from njrt.messages import Request, UserMessage
from njrt.models.model import answer_all
from njrt.testing import Scripted
from spsbench import flags
from spsbench.journal import naming, read_data_file, read_results_file
from spsbench.repair.problems import STRATA, RepairProblem, parse_repair_problems
from spsbench.repair.prompt import SYSTEM_PROMPT, make_repair_prompt
from spsbench.repair.results import (
    ASKED,
    REPAIR_KINDS,
    RepairReply,
    RepairResult,
    RepairRun,
    RepairSettings,
    RepairTrial,
)
from spsbench.repair.table import format_tables
from spsbench.results import InputError, Results
from spsbench.sampling import draw_sample
from spsbench.script import SCRIPTED
from spsbench.studies.study import format_study_error, is_prompt_too_long
from spsbench.trials.answering import load_model
from spsbench.trials.experiment import Experiment, run_experiment
from spsbench.trials.machine import describe_start, read_timestamp
from spsbench.trials.workers import LostTrial


@dataclass(frozen=True, slots=True)
class RepairJob:
    """A repair under one condition, with everything needed to run it, even on another machine."""

    trial: RepairTrial
    problem: RepairProblem
    settings: RepairSettings
    base_url: str | None = None
    rationale: str = ""
    """The other model's rationale, for the condition `rationale`."""
    seconds: float = 600.0
    """The time limit for one reply."""

    def evaluate(self, code: str) -> TestOutcome:
        program = complete_program(code, self.problem.code)
        traces = self.trial.condition == "trace"
        seconds = self.settings.test_seconds
        return run_tests(program, self.problem.tests, seconds, traces=traces)

    def check(self, code: str) -> tuple[str, ...]:
        """Accept every program, because its tests run in a process with limits."""
        return ()

    def make_request(
        self,
        code: str,
        evaluation: TestOutcome,
        refused: RefusedProposal | None,
        turn: int,
        temperature: float | None,
    ) -> Request:
        """Return the request for the corrected program."""
        assert isinstance(evaluation, FailedTests), "a right program is not repaired"
        prompt = make_repair_prompt(self.trial.condition, code, evaluation, self.rationale)
        return Request(
            SYSTEM_PROMPT,
            (UserMessage(prompt),),
            temperature=temperature,
            max_reply_tokens=self.settings.reply_tokens,
            timeout=self.seconds,
            place=self.problem.name,
            turn=turn,
        )

    def read_reply(self, text: str) -> Proposal:
        """Return the program in a reply, and its rationale."""
        code = find_program(text, self.problem.entry_point)
        return Proposal(remove_step_comments(code), read_rationale(text))


def execute_repair(job: RepairJob, stop: threading.Event | None = None) -> RepairResult | LostTrial:
    """Run a repair; it is lost if the model's server fails. `stop` is ignored: a repair is short.

    A prompt that is too long is a result.
    """
    reply = f"The program is not the right one.\n\n```python\n{job.problem.correct}```"
    model = load_model(job.trial.model, job.base_url) or Scripted(
        lambda request: reply, name=SCRIPTED, protocol="text"
    )
    started, began, settings = read_timestamp(), time.monotonic(), job.settings
    budget = RepairBudget(settings.calls, settings.tokens, settings.temperature)
    error, repaired = "", None
    try:
        repaired = answer_all(repair_code(job, job.problem.code, budget), model.ask)
    except ModelError as failure:
        if not is_prompt_too_long(failure):
            return LostTrial(job.trial, format_study_error(failure))
        error = type(failure).__name__
    return RepairResult(
        **asdict(job.trial),
        passed=repaired is not None and isinstance(repaired.evaluation, PassedTests),
        replies=tuple(
            RepairReply(attempt.rationale, "", "no code")
            if attempt.verdict == (NO_CODE,)
            else RepairReply(attempt.rationale, attempt.code, "; ".join(attempt.verdict))
            for attempt in (repaired.attempts if repaired else ())
        ),
        input_tokens=repaired.cost.input if repaired else 0,
        output_tokens=repaired.cost.output if repaired else 0,
        seconds=round(time.monotonic() - began, 2),
        started=started,
        error=error,
        shown_rationale=job.rationale,
    )


# ── the trials of a run, and earlier results that cannot be compared with them ────────────────────


Rationales = Mapping[str, str]
"""Rationales of another model, by problem."""


def list_jobs(
    run: RepairRun,
    problems: Sequence[RepairProblem],
    rationales: Rationales,
    seconds: float,
    base_url: str | None,
) -> list[RepairJob]:
    """Return all repairs, by sample, then problem, then condition.

    The condition `rationale` is skipped for problems without a rationale.
    """
    return [
        RepairJob(
            RepairTrial(problem.name, condition, run.model, sample),
            problem,
            run.settings,
            base_url,
            rationales.get(problem.name, "") if condition == "rationale" else "",
            seconds,
        )
        for sample in range(1, run.samples + 1)
        for problem in problems
        for condition in run.conditions
        if condition != "rationale" or rationales.get(problem.name)
    ]


def list_differences(run: RepairRun, rationales: Rationales, found: Results) -> Iterator[str]:
    """Yield descriptions of earlier repairs with a different budget, data or rationale."""
    for earlier in found.select(RepairRun):
        if earlier.model == run.model and earlier.settings != run.settings:
            yield f"repairs by {earlier.model} with another budget ({earlier.settings})"
        for name, digest in earlier.data.items():
            if run.data.get(name, digest) != digest:
                yield f"repairs of another {name}"
    for result in found.select(RepairResult):
        now = rationales.get(result.problem)
        is_shown = result.condition == "rationale" and result.model == run.model
        if is_shown and now is not None and result.shown_rationale != now:
            yield f"a repair of {result.problem} with another rationale"


def find_differing_verdicts(
    results: Sequence[RepairResult],
    problems: Mapping[str, RepairProblem],
    seconds: float,
    show_line: Callable[[str], None],
) -> Iterator[RepairResult]:
    """Yield the results with a different verdict when the programs in all replies are retested."""
    for number, result in enumerate(results, 1):
        problem = problems[result.problem]
        programs = (complete_program(reply.code, problem.code) for reply in result.replies)
        outcomes = (run_tests(program, problem.tests, seconds) for program in programs)
        show_line(f"[{number}/{len(results)}] {result}")
        if any(isinstance(outcome, PassedTests) for outcome in outcomes) != result.passed:
            yield result


# ── the files and the run that the command's flags request ───────────────────────────────────────


def repair_problems(values: Mapping[str, Any]) -> int:
    """Run the remaining repairs that the flags request, print tables, and return the exit code."""
    out = values["out"]
    problems, digests = read_problems(values["data"])
    rationales, writer = _read_rationales(values["rationales"])
    run = _build_run(values, len(problems), digests, writer)
    uniform = Random(values["seed"]).random
    chosen = draw_sample(
        problems.values(), lambda each: each.name, lambda each: each.kind, values["sample"], uniform
    )
    if "rationale" in run.conditions and not any(rationales.get(each.name) for each in chosen):
        raise click.UsageError(
            f"{values['rationales']} has no rationale for a problem of the sample; use the same"
            " --data, --sample and --seed"
        )

    def refuse(found: Results) -> None:
        for difference in list_differences(run, rationales, found):
            raise InputError(f"{out} has {difference}; name another file by --out")

    base_url = os.environ.get("NJC_BASE_URL")
    jobs = list_jobs(run, chosen, rationales, values["seconds"], base_url)
    repairs = Experiment(
        "repairs", out, REPAIR_KINDS, jobs, execute_repair, run, (), run.jobs, refuse
    )
    return run_experiment(repairs, format_tables)


def read_problems(paths: Iterable[Path]) -> tuple[dict[str, RepairProblem], dict[str, str]]:
    """Return the problems of all files by name, and the digest of each file."""
    problems: list[RepairProblem] = []
    digests = {}
    for path in paths:
        lines, digests[path.name] = read_data_file(path)
        with naming(path):
            problems += parse_repair_problems(lines)
    for name, count in Counter(problem.name for problem in problems).items():
        if count > 1:
            raise InputError(f"the data has {name} {count} times")
    return {problem.name: problem for problem in problems}, digests


def _read_results(path: Path) -> tuple[RepairResult, ...]:
    return read_results_file(path, REPAIR_KINDS).select(RepairResult)


def _build_run(
    values: Mapping[str, Any], size: int, digests: dict[str, str], writer: str
) -> RepairRun:
    """Return the requested run on a data set of this size."""
    flags.require_model(values["model"])
    conditions: Any = flags.list_names(values["conditions"], ASKED, "condition")
    if ("rationale" in conditions) != (values["rationales"] is not None):
        raise click.UsageError("the condition rationale and --rationales FILE go together")
    settings = ("calls", "tokens", "reply_tokens", "temperature", "test_seconds")
    return RepairRun(
        conditions=conditions,
        settings=RepairSettings(**{name: values[name] for name in settings}),
        data=digests,
        problems=size,
        rationales=writer,
        strata=STRATA,
        **{name: values[name] for name in ("model", "samples", "sample", "seed", "note")},
        **describe_start(values["jobs"], "processes"),
    )


def _read_rationales(path: Path | None) -> tuple[dict[str, str], str]:
    """Return each problem's first rationale, passed or not, and the models that wrote them."""
    if path is None:
        return {}, ""
    rationales: dict[str, str] = {}
    results = _read_results(path)
    for result in sorted(results, key=lambda result: (result.sample, result.condition != "trace")):
        for reply in result.replies[:1]:
            rationales.setdefault(result.problem, reply.rationale)
    return rationales, ", ".join(sorted({result.model for result in results}))


def rescore_repairs(path: Path, data: tuple[Path, ...], seconds: float) -> None:
    """Test the fixes in a file again; a different verdict is an error."""
    problems, _ = read_problems(data)
    results = [result for result in _read_results(path) if result.problem in problems]
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
