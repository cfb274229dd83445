"""The repair of code by tests: a conversation with a model, as a generator without I/O.

    code ─> evaluation ─> request ─> reply ─> proposal ─> evaluation ─> the better code ─> ...

A `CodeRepair` defines the tests, the prompts and the reading of replies: for static blocks tested
by a command, and for programs with tests (`spsbench.repair`). The best code so far is sent to the
model; code that is not better is dropped.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Generic, Protocol, TypeVar

from njc.static.generate import NO_CODE, TEMPERATURE_STEP, GenerationCost
from njrt.data.records import field, record
from njrt.messages import Reply, Request


class CodeEvaluation(Protocol):
    """How well code did on its tests."""

    @property
    def rank(self) -> tuple[int, ...]:
        """The key for comparing evaluations; higher is better."""

    @property
    def can_improve(self) -> bool:
        """Whether there is a failure that may be shown to the model."""

    def __str__(self) -> str: ...


EvaluationT = TypeVar("EvaluationT", bound=CodeEvaluation)


@record
class Proposal:
    """The content of a reply."""

    code: str
    """Empty if the reply has no code."""
    rationale: str = ""
    """The text before the code."""


@record
class RefusedProposal:
    """A proposal that was not tested, and why."""

    code: str
    refusals: tuple[str, ...]


class CodeRepair(Protocol[EvaluationT]):
    """A repair's tests and prompts, and how its replies are parsed."""

    def evaluate(self, code: str) -> EvaluationT:
        """Run the tests on code."""

    def check(self, code: str) -> tuple[str, ...]:
        """Return the reasons not to run code, if any."""

    def make_request(
        self,
        code: str,
        evaluation: EvaluationT,
        refused: RefusedProposal | None,
        turn: int,
        temperature: float | None,
    ) -> Request:
        """Return a request to improve `code`; `refused` is the last proposal if not tested."""

    def read_reply(self, text: str) -> Proposal:
        """Return the proposal in a reply."""


@record
class RepairBudget:
    """The limits of a repair."""

    calls: int
    tokens: int | None = None
    """Input and output tokens of all calls; once they are used up, no call is made."""
    temperature: float | None = None
    """The temperature of the first call; None for the vendor's default."""

    def allows(self, calls: int, cost: GenerationCost) -> bool:
        return calls < self.calls and (
            self.tokens is None or cost.input + cost.output < self.tokens
        )

    def choose_temperature(self, calls: int) -> float | None:
        if self.temperature is None:
            return None
        # Small models repeat themselves at an unchanged temperature.
        return min(max(1.0, self.temperature), self.temperature + calls * TEMPERATURE_STEP)


@record
class RepairAttempt:
    """A reply: its code, and why the code was refused or how its tests went."""

    code: str
    """The code, or the whole reply if it contains none."""
    verdict: tuple[str, ...]
    rationale: str = ""


@record
class Repaired(Generic[EvaluationT]):
    """The best code, its evaluation and rationale, and the evaluation of the original code."""

    code: str
    evaluation: EvaluationT
    first: EvaluationT
    rationale: str = ""
    """Empty if the code is the original code."""
    attempts: tuple[RepairAttempt, ...] = ()
    cost: GenerationCost = field(default_factory=GenerationCost)


def repair_code(
    repair: CodeRepair[EvaluationT], code: str, budget: RepairBudget
) -> Generator[Request, Reply, Repaired[EvaluationT]]:
    """Have code corrected until it passes its tests, the budget is used up, or the model fails."""
    best = first = repair.evaluate(code)
    attempts: tuple[RepairAttempt, ...] = ()
    cost, rationale = GenerationCost(), ""
    refused: RefusedProposal | None = None
    while best.can_improve and budget.allows(len(attempts), cost):
        calls = len(attempts)
        temperature = budget.choose_temperature(calls)
        reply = yield repair.make_request(code, best, refused, calls + 1, temperature)
        cost = cost.add_reply(reply)
        proposal = repair.read_reply(reply.message.text)
        verdict = refusals = repair.check(proposal.code) if proposal.code else (NO_CODE,)
        if not refusals:
            evaluation = repair.evaluate(proposal.code)
            verdict = (str(evaluation),)
            if evaluation.rank > best.rank:
                best, code, rationale = evaluation, proposal.code, proposal.rationale
        shown = proposal.code or reply.message.text
        attempts = (*attempts, RepairAttempt(shown, tuple(verdict), proposal.rationale))
        refused = RefusedProposal(proposal.code, tuple(refusals)) if refusals else None
    return Repaired(code, best, first, rationale, attempts, cost)
