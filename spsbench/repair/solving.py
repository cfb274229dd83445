"""One repair: a model corrects a program until its tests pass or the budget is used.

    execute_repair(RepairJob(trial, problem, settings, base_url))   ->  RepairResult(passed=True, ...)

The loop is that of `njc.evaluation.repair.loop`; the tests run in a process with limits.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Generator
from dataclasses import asdict, dataclass

from njc.evaluation.repair.annotate import remove_step_comments
from njc.evaluation.repair.loop import (
    Proposal,
    RefusedProposal,
    RepairBudget,
    Repaired,
    repair_code,
)
from njc.evaluation.repair.reply import complete_program, find_program, read_rationale
from njc.evaluation.repair.testing import FailedTests, PassedTests, TestOutcome, run_tests
from njc.static.generate import NO_CODE
from njrt.errors import ModelError
from njrt.messages import ModelMessage, Reply, Request, UserMessage
from njrt.models.model import Model
from njrt.models.scripted import Scripted
from spsbench.repair.demonstrations import Demonstration
from spsbench.repair.problems import RepairProblem
from spsbench.repair.prompt import SYSTEM_PROMPT, make_repair_prompt
from spsbench.repair.results import (
    TURNS,
    Condition,
    RepairReply,
    RepairResult,
    RepairSettings,
    RepairTrial,
)
from spsbench.script import SCRIPTED
from spsbench.studies.study import format_study_error, is_prompt_too_long
from spsbench.studies.study_command import load_study_model
from spsbench.trials.machine import read_timestamp
from spsbench.trials.workers import LostTrial


@dataclass(frozen=True, slots=True)
class RepairJob:
    """A repair and what is needed to run it, also on another machine."""

    trial: RepairTrial
    problem: RepairProblem
    settings: RepairSettings
    base_url: str | None = None
    rationale: str = ""
    """That of another model, for the condition `rationale`."""
    seconds: float = 600.0
    """For one reply."""
    demonstrations: tuple[Demonstration, ...] = ()
    """Right repairs of an earlier turn, for the condition of a turn."""


@dataclass(frozen=True, slots=True)
class ProgramEvaluation:
    """How the tests of a program ended."""

    outcome: TestOutcome

    @property
    def has_passed(self) -> bool:
        """Whether all tests passed."""
        return isinstance(self.outcome, PassedTests)

    @property
    def rank(self) -> tuple[int, ...]:
        """What to compare evaluations by."""
        return (int(self.has_passed),)

    @property
    def can_improve(self) -> bool:
        """Whether a test failed."""
        return not self.has_passed

    def __str__(self) -> str:
        match self.outcome:
            case PassedTests():
                return "passes"
            case FailedTests(test, problem):
                return f"{test}: {problem}" if test else problem


@dataclass(frozen=True, slots=True)
class ProgramRepair:
    """The repair of a program under one condition."""

    problem: RepairProblem
    condition: Condition
    settings: RepairSettings
    rationale: str
    seconds: float
    """For one reply."""
    demonstrations: tuple[Demonstration, ...] = ()

    def evaluate(self, code: str) -> ProgramEvaluation:
        """Run the tests."""
        return ProgramEvaluation(
            run_tests(
                complete_program(code, self.problem.code),
                self.problem.tests,
                self.settings.test_seconds,
                traces=self.condition in ("trace", *TURNS),
            )
        )

    def check(self, code: str) -> tuple[str, ...]:
        """Every program is run; the process of its tests has limits."""
        return ()

    def make_request(
        self,
        code: str,
        evaluation: ProgramEvaluation,
        refused: RefusedProposal | None,
        turn: int,
        temperature: float | None,
    ) -> Request:
        """Ask for the corrected program."""
        assert isinstance(evaluation.outcome, FailedTests), "a right program is not repaired"
        prompt = make_repair_prompt(self.condition, code, evaluation.outcome, self.rationale)
        shown = [
            message
            for one in self.demonstrations
            for message in (UserMessage(one.question), ModelMessage(one.reply))
        ]
        return Request(
            SYSTEM_PROMPT,
            (*shown, UserMessage(prompt)),
            temperature=temperature,
            max_reply_tokens=self.settings.reply_tokens,
            timeout=self.seconds,
            place=self.problem.name,
            turn=turn,
        )

    def read_reply(self, text: str) -> Proposal:
        """Return the program of a reply, and its rationale."""
        code = find_program(text, self.problem.entry_point)
        return Proposal(remove_step_comments(code), read_rationale(text))


def execute_repair(job: RepairJob, stop: threading.Event | None = None) -> RepairResult | LostTrial:
    """Run one repair; it is lost where the model's server fails. `stop` is not looked at, because a repair is short.

    A prompt that is too long is a result.
    """
    model = _load_model(job)
    started = read_timestamp()
    began = time.monotonic()
    settings = job.settings
    repair = ProgramRepair(
        job.problem,
        job.trial.condition,
        settings,
        job.rationale,
        job.seconds,
        job.demonstrations,
    )
    budget = RepairBudget(settings.calls, settings.tokens, settings.temperature)
    error, repaired = "", None
    try:
        repaired = _run(model, repair_code(repair, job.problem.code, budget))
    except ModelError as failure:
        if not is_prompt_too_long(failure):
            return LostTrial(job.trial, format_study_error(failure))
        error = type(failure).__name__
    return RepairResult(
        **asdict(job.trial),
        passed=repaired is not None and repaired.evaluation.has_passed,
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
        shown=tuple(one.problem for one in job.demonstrations),
    )


def _run(
    model: Model, repair: Generator[Request, Reply, Repaired[ProgramEvaluation]]
) -> Repaired[ProgramEvaluation]:
    try:
        request = next(repair)
        while True:
            request = repair.send(model.ask(request))
    except StopIteration as end:
        repaired: Repaired[ProgramEvaluation] = end.value
        return repaired


def _load_model(job: RepairJob) -> Model:
    if job.trial.model == SCRIPTED:
        return _make_perfect_model(job.problem)
    environ = {**os.environ, **({"NJC_BASE_URL": job.base_url} if job.base_url else {})}
    model = load_study_model(job.trial.model, environ)
    assert model is not None, "only the scripted one is none"
    return model


def _make_perfect_model(problem: RepairProblem) -> Model:
    """Return a model that knows the right program."""
    reply = f"The program is not the right one.\n\n```python\n{problem.correct}```"
    return Scripted(lambda request: reply, name=SCRIPTED, protocol="text")
