"""One repair: a model corrects a program, whose tests then run.

    execute_repair(RepairJob(trial, problem, settings, base_url)) -> RepairResult(passed=True, ...)

The tests run in a process with limits.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from njc.measure.repair.annotate import remove_step_comments
from njc.measure.repair.reply import read_rationale
from njc.static.generate import GenerationCost
from njrt.errors import ModelError, RejectedRequestError
from njrt.messages import Request, UserMessage
from njrt.models.model import Model
from njrt.testing import Scripted
from spsbench import flags
from spsbench.journal import naming, read_data_file
from spsbench.repair.problems import RepairProblem, parse_repair_problems
from spsbench.repair.program_reply import complete_program, find_program
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
from spsbench.repair.testing import FailedTests, PassedTests, TestOutcome, run_tests
from spsbench.results import InputError, Results
from spsbench.script import SCRIPTED
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
    seconds: float = 600.0
    """The time limit for one reply."""

    def evaluate(self, code: str) -> TestOutcome:
        program = complete_program(code, self.problem.code)
        traces = self.trial.condition == "trace"
        seconds = self.settings.test_seconds
        return run_tests(program, self.problem.tests, seconds, traces=traces)

    def make_request(self, failure: FailedTests) -> Request:
        """Return the request for the corrected program."""
        return Request(
            SYSTEM_PROMPT,
            (UserMessage(make_repair_prompt(self.trial.condition, self.problem.code, failure)),),
            temperature=self.settings.temperature,
            max_reply_tokens=self.settings.reply_tokens,
            timeout=self.seconds,
            place=self.problem.name,
        )


def repair_program(
    job: RepairJob, model: Model
) -> tuple[tuple[RepairReply, ...], GenerationCost, bool]:
    """Ask once, if a program fails its tests; return the reply, and whether the tests pass."""
    failure = job.evaluate(job.problem.code)
    if isinstance(failure, PassedTests):
        return (), GenerationCost(), True
    reply = model.ask(job.make_request(failure))
    text = reply.message.text
    code = remove_step_comments(find_program(text, job.problem.entry_point))
    outcome = job.evaluate(code) if code else failure
    verdict = str(outcome) if code else "no code"
    replies = (RepairReply(read_rationale(text), code, verdict),)
    return replies, GenerationCost().add_reply(reply), isinstance(outcome, PassedTests)


def execute_repair(job: RepairJob, stop: threading.Event | None = None) -> RepairResult | LostTrial:
    """Run a repair; it is lost if the model's server fails. `stop` is ignored: a repair is short.

    A prompt that is too long is a result.
    """
    answer = f"The program is not the right one.\n\n```python\n{job.problem.correct}```"
    model = load_model(job.trial.model, job.base_url) or Scripted(
        lambda request: answer, name=SCRIPTED, protocol="text"
    )
    started, began, error = read_timestamp(), time.monotonic(), ""
    replies: tuple[RepairReply, ...] = ()
    cost, passed = GenerationCost(), False
    try:
        replies, cost, passed = repair_program(job, model)
    except ModelError as failure:
        if not is_prompt_too_long(failure):
            return LostTrial(job.trial, format_model_error(failure))
        error = type(failure).__name__
    return RepairResult(
        **asdict(job.trial),
        passed=passed,
        replies=replies,
        input_tokens=cost.input,
        output_tokens=cost.output,
        seconds=round(time.monotonic() - began, 2),
        started=started,
        error=error,
    )


# ── the trials of a run, and earlier results that cannot be compared with them ────────────────────


def list_jobs(
    run: RepairRun, problems: Sequence[RepairProblem], seconds: float, base_url: str | None
) -> list[RepairJob]:
    """Return all repairs, by sample, then problem, then condition."""
    return [
        RepairJob(
            RepairTrial(problem.name, condition, run.model, sample),
            problem,
            run.settings,
            base_url,
            seconds,
        )
        for sample in range(1, run.samples + 1)
        for problem in problems
        for condition in run.conditions
    ]


def list_differences(run: RepairRun, found: Results) -> Iterator[str]:
    """Yield descriptions of earlier repairs with a different budget or data."""
    for earlier in found.select(RepairRun):
        if earlier.model == run.model and earlier.settings != run.settings:
            yield f"repairs by {earlier.model} with another budget ({earlier.settings})"
        if earlier.strata != run.strata:
            yield "repairs of a sample that an earlier version drew"
        for name, digest in earlier.data.items():
            if run.data.get(name, digest) != digest:
                yield f"repairs of another {name}"


# ── the files and the run that the command's flags request ───────────────────────────────────────


def repair_problems(values: Mapping[str, Any]) -> int:
    """Run the remaining repairs that the flags request, print tables, and return the exit code."""
    out = values["out"]
    problems, digests = read_problems(values["data"])
    run = _build_run(values, len(problems), digests)
    drawn = draw_sample(problems, values["sample"], values["seed"])

    def refuse(found: Results) -> None:
        for difference in list_differences(run, found):
            raise InputError(f"{out} has {difference}; name another file by --out")

    base_url = os.environ.get("NJC_BASE_URL")
    jobs = list_jobs(run, [problems[name] for name in drawn], values["seconds"], base_url)
    repairs = Experiment(
        "repairs", out, REPAIR_KINDS, jobs, execute_repair, run, (), run.jobs, refuse
    )
    return run_experiment(repairs, format_tables)


def draw_sample(names: Iterable[str], size: int | None, seed: int) -> list[str]:
    """Return a random sample of names, the first ones of any larger sample with this seed."""
    drawn = sorted(names)
    Random(seed).shuffle(drawn)
    return drawn[:size]


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


def _build_run(values: Mapping[str, Any], size: int, digests: dict[str, str]) -> RepairRun:
    """Return the requested run on a data set of this size."""
    flags.require_model(values["model"])
    conditions: Any = flags.list_names(values["conditions"], ASKED, "condition")
    settings = ("reply_tokens", "temperature", "test_seconds")
    return RepairRun(
        conditions=conditions,
        settings=RepairSettings(**{name: values[name] for name in settings}),
        data=digests,
        problems=size,
        rationales="",
        **{name: values[name] for name in ("model", "samples", "sample", "seed", "note")},
        **describe_start(values["jobs"], "processes"),
    )


def format_model_error(error: ModelError) -> str:
    """Return an error on one line, without server addresses, because results are published.

    For a time limit, the text names the command's option `--seconds`.
    """
    line = f"{type(error).__name__}: {error}".split("\n")[0]
    line = line.replace("raise `max_call_seconds`", "raise --seconds")
    return re.sub(r" at https?://\S+", "", line)[:300]


def is_prompt_too_long(error: ModelError) -> bool:
    """Return whether a request was rejected for its length, which vendors report only in text."""
    is_rejected = isinstance(error, RejectedRequestError)
    return is_rejected and any(words in str(error) for words in ("context", "too long"))
