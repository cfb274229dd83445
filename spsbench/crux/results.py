"""Lines of a `spsbench crux` results file: JSON Lines, one for each start and one for each result.

{"kind": "crux run", "started": "2026-03-01T09:30:00Z", "model": "openai/local", "sample": 40, "seed": 1, ...}
{"kind": "answer", "task": "output", "form": "direct", "problem": "sample_7", "passed": true, ...}
{"kind": "state", "action": "step_over", "problem": "sample_7", "score": {"event": true, ...}, ...}
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from spsbench.crux.prediction import StateScore
from spsbench.results import SampledRun, Timestamp, TrialLine, format_usage
from spsbench.states.actions import Action

CruxTask = Literal["output", "input"]
CruxForm = Literal["direct", "action", "trace"]
"""The form of a question.

    direct   the code, and the call without its result or the result without its call
    action   one action of a debugger: `step_return` from the call, `inv_step_call` from the return
    trace    as direct, and the code has the states of the run as comments, without the answer
"""
TASKS: tuple[CruxTask, ...] = get_args(CruxTask)
FORMS: tuple[CruxForm, ...] = get_args(CruxForm)
"""In the order of the tables."""


@dataclass(frozen=True, slots=True)
class AnswerTrial(TrialLine):
    """One question about a problem's output or input."""

    task: CruxTask
    form: CruxForm
    problem: str
    model: str

    def __str__(self) -> str:
        return f"{self.task} {self.form} {self.problem}"


@dataclass(frozen=True, slots=True)
class StateTrial(TrialLine):
    """One question about a state: an action on a problem, at a step chosen by a seed."""

    action: Action
    problem: str
    model: str

    def __str__(self) -> str:
        return f"{self.action} {self.problem}"


CruxTrial = AnswerTrial | StateTrial


@dataclass(frozen=True, slots=True)
class CruxUsage:
    """The usage of a question."""

    calls: int
    input_tokens: int
    output_tokens: int
    seconds: float
    """Time spent waiting for the model."""
    started: Timestamp

    def __str__(self) -> str:
        return format_usage(self)


@dataclass(frozen=True, slots=True)
class AnswerResult(AnswerTrial):
    """The answer to a problem."""

    kind: Literal["answer"] = field(default="answer", kw_only=True)
    passed: bool
    answer: str | None
    """None if the reply contains none."""
    reply: str
    """Cut at 500 characters."""
    usage: CruxUsage

    def describe(self) -> tuple[str, str]:
        return "right" if self.passed else "wrong" if self.answer else "no answer", str(self.usage)


@dataclass(frozen=True, slots=True)
class StateResult(StateTrial):
    """A predicted state."""

    kind: Literal["state"] = field(default="state", kw_only=True)
    index: int
    """The index of the state before the action, from 0."""
    line: int | None
    """The line of a breakpoint."""
    depth: int
    """The call depth of the state before the action."""
    distance: int
    """The number of states from there to the predicted one, inclusive."""
    score: StateScore
    reply: str
    """Cut at 500 characters."""
    usage: CruxUsage

    def describe(self) -> tuple[str, str]:
        verdict = "right" if self.score.exact else f"{self.score.partial:.0%} right"
        return verdict, str(self.usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class CruxRun(SampledRun):
    """One start of `spsbench crux` on a results file; `sample` is the number of problems drawn."""

    kind: Literal["crux run"] = "crux run"
    tasks: tuple[str, ...]
    """output, input, states"""
    forms: tuple[CruxForm, ...]
    problems: int
    """The number in the data set."""
    data: str
    """The first 16 digits of the SHA-256 of the data set."""
    sample: int
    states: int
    """The number of steps for each action."""
    temperature: float


CruxResult = AnswerResult | StateResult
CRUX_KINDS = (CruxRun, AnswerResult, StateResult)
