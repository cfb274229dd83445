"""The lines of a results file of `spsbench crux`: JSON Lines, one for each start and one for each result.

    {"kind": "crux run", "started": "2026-03-01T09:30:00Z", "model": "openai/local", "sample": 40, "seed": 1, ...}
    {"kind": "answer", "task": "output", "form": "direct", "problem": "sample_7", "passed": true, ...}
    {"kind": "state", "action": "step_over", "problem": "sample_7", "score": {"event": true, ...}, ...}
    {"kind": "generations", "task": "output", "file": "codellama.json", "pass_at_1": 34.2, ...}

The last line of a trial counts. A last line without its newline was cut off by a kill, and its trial is run again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from spsbench.crux.prediction import StateScore
from spsbench.crux.scoring import CruxTask
from spsbench.results import Hardware, build_line_type, read_lines, select_last_results
from spsbench.states.actions import Action

CruxForm = Literal["direct", "action", "path", "trace"]
"""How a problem is asked.

    direct   the code, and the call without its result or the result without its call
    action   one action of a debugger: `step_return` from the call, `inv_step_call` from the return
    path     the way there in single steps: `step_over` to the return, `inv_step_over` to the call
    trace    as direct, and the code has the states of the run in comments, without what is asked for
"""


@dataclass(frozen=True, slots=True)
class AnswerTrial:
    """One question for the output or the input of a problem."""

    task: CruxTask
    form: CruxForm
    problem: str
    model: str
    repeat: int
    """From 1."""


@dataclass(frozen=True, slots=True)
class StateTrial:
    """One question for a state: an action of a problem, the step chosen by a seed."""

    action: Action
    problem: str
    model: str
    repeat: int
    """From 1; each has a step of its own."""


CruxTrial = AnswerTrial | StateTrial


@dataclass(frozen=True, slots=True)
class CruxUsage:
    """What a question took."""

    calls: int
    input_tokens: int
    output_tokens: int
    seconds: float
    """Waiting for the model."""
    started: str
    """ISO 8601, UTC."""


@dataclass(frozen=True, slots=True)
class AnswerResult(AnswerTrial):
    """The answer to a problem."""

    kind: Literal["answer"] = field(default="answer", kw_only=True)
    passed: bool
    answer: str | None
    """None if the reply has none."""
    reply: str
    """The last one, cut at 500 characters."""
    usage: CruxUsage

    @property
    def trial(self) -> AnswerTrial:
        """What was asked."""
        return AnswerTrial(self.task, self.form, self.problem, self.model, self.repeat)


@dataclass(frozen=True, slots=True)
class StateResult(StateTrial):
    """A predicted state."""

    kind: Literal["state"] = field(default="state", kw_only=True)
    index: int
    """The state from which the action starts, from 0."""
    line: int | None
    """Of a breakpoint."""
    depth: int
    """Of the state from which the action starts."""
    distance: int
    """States from there to the predicted one, that one included."""
    score: StateScore
    reply: str
    """Cut at 500 characters."""
    usage: CruxUsage

    @property
    def trial(self) -> StateTrial:
        """What was asked."""
        return StateTrial(self.action, self.problem, self.model, self.repeat)


@dataclass(frozen=True, slots=True)
class CruxRun:
    """One start of `spsbench crux` on a results file."""

    kind: Literal["crux run"] = field(default="crux run", kw_only=True)
    started: str
    """ISO 8601, UTC."""
    model: str
    tasks: tuple[str, ...]
    forms: tuple[str, ...]
    problems: int
    """Of the data set."""
    data: str
    """The first 16 digits of the SHA-256 of the data set."""
    sample: int
    """Problems that were drawn."""
    states: int
    """Steps for each action."""
    seed: int
    repeats: int
    temperature: float
    max_steps: int
    executor: str
    jobs: int
    hardware: Hardware
    system: str
    python: str
    versions: Mapping[str, str]
    note: str = ""
    """What else a reader should know, by `--note`."""
    strata: str = ""
    """What the sample has its share of; empty if all problems were drawn alike."""


@dataclass(frozen=True, slots=True)
class GenerationsResult:
    """The scores of a file of generations; pass@k in per cent."""

    kind: Literal["generations"] = field(default="generations", kw_only=True)
    task: CruxTask
    file: str
    """Its name, without folders."""
    sha256: str
    """The first 16 digits."""
    problems: int
    answers: int
    pass_at_1: float
    pass_at_5: float | None
    published_pass_at_1: float | None
    """As the file itself says; None if it has no scores."""
    published_pass_at_5: float | None
    differing: int | None
    """Problems whose answers the file scores differently; None if it has no scores."""

    @property
    def trial(self) -> tuple[str, str]:
        """What was scored."""
        return self.task, self.sha256


CruxResult = AnswerResult | StateResult


@dataclass(frozen=True, slots=True)
class CruxResultSet:
    """All lines of a results file; of each trial only the last."""

    runs: tuple[CruxRun, ...] = ()
    answers: tuple[AnswerResult, ...] = ()
    states: tuple[StateResult, ...] = ()
    generations: tuple[GenerationsResult, ...] = ()
    remarks: tuple[str, ...] = ()


def read_crux_results(lines: Iterable[str]) -> CruxResultSet:
    """Read a results file; `DamagedResultsError` names a line that cannot be read."""
    kinds = (CruxRun, AnswerResult, StateResult, GenerationsResult)
    entries, remarks = read_lines(lines, build_line_type(*kinds))
    return CruxResultSet(
        tuple(entry for entry in entries if isinstance(entry, CruxRun)),
        select_last_results(entries, AnswerResult),
        select_last_results(entries, StateResult),
        select_last_results(entries, GenerationsResult),
        remarks,
    )
