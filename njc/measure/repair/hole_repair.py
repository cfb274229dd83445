"""The repair of a block's locked code: the request that describes a failure, and the new entry.

HoleRepair(hole, check, evaluate, describe)         what `repair_code` asks, reads, checks and runs
make_repaired_entry(hole, began, repaired, ...)     the entry of njc.lock, with rationale and cost
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic

from njc.measure.repair.annotate import remove_step_comments
from njc.measure.repair.loop import EvaluationT, Proposal, RefusedProposal, Repaired
from njc.measure.repair.reply import read_rationale
from njc.static.generate import (
    REPAIR_SYSTEM_PROMPT,
    CodeCheck,
    extract_code,
    make_code_request,
    make_refusal_messages,
)
from njc.static.holes import Hole, format_question_form
from njc.static.lock import LockEntry, StaticLock, TokenCounts, hash_code
from njc.static.staleness import Locked, describe_hole_status, find_hole_statuses
from njrt.data.records import record, replace
from njrt.messages import Message, Request, UserMessage


@record
class HoleRepair(Generic[EvaluationT]):
    """The repair of a hole's code."""

    hole: Hole
    check: CodeCheck
    evaluate: Callable[[str], EvaluationT]
    describe: Callable[[Hole, EvaluationT], str]
    """Describes what went wrong with the code."""

    def make_request(
        self,
        code: str,
        evaluation: EvaluationT,
        refused: RefusedProposal | None,
        turn: int,
        temperature: float | None,
    ) -> Request:
        """Return a request that describes the failure and the proposal refused since, if any."""
        refusal: tuple[Message, ...] = ()
        if refused and refused.code:
            refusal = make_refusal_messages(refused.code, refused.refusals)
        problem = self.describe(self.hole, evaluation)
        messages: tuple[Message, ...] = (UserMessage(f"{self.hole.shown}\n\n{problem}"), *refusal)
        request = make_code_request(self.hole, messages, temperature, turn)
        return replace(request, system=REPAIR_SYSTEM_PROMPT)

    def read_reply(self, text: str) -> Proposal:
        code = remove_step_comments(extract_code(text))
        return Proposal(code, read_rationale(text))


RATIONALE_INSTRUCTION = (
    "Write the rationale first, then the code, corrected and without these comments: only the"
    " statements for the marked place."
)


def make_hint(hole: Hole, code: str) -> str:
    """Return a hint for code that does not ask a model."""
    if hole.helper in code:
        return ""
    return (
        " If it takes understanding of a text, ask for what the text says:"
        f" {format_question_form(hole)}."
    )


def find_locked_entry(hole: Hole, lock: StaticLock) -> tuple[LockEntry | None, str]:
    """Return the entry of a hole with code, or else the reason for its absence."""
    match find_hole_statuses([hole], lock)[hole.name]:
        case Locked(entry):
            return entry, ""
        case status:
            return None, f"{describe_hole_status(status)}; `njc build` writes it"


def make_repaired_entry(
    began: LockEntry, repaired: Repaired[Any], writer: str, date: str
) -> LockEntry:
    """Return repaired code's entry, with all costs."""
    cost, code = repaired.cost, repaired.code
    return replace(
        began,
        attempts=began.attempts + len(repaired.attempts),
        tokens=TokenCounts(began.tokens.input + cost.input, began.tokens.output + cost.output),
        usd=None if began.usd is None and cost.usd is None else (began.usd or 0) + (cost.usd or 0),
        code=code,
        digest=hash_code(code),
        model=writer,
        date=date,
        rationale=f"{repaired.rationale}\n" if repaired.rationale else "",
    )
