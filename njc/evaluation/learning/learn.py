"""Correcting the code of a block by recorded runs: what `njc.evaluation.repair.loop` tests, asks and reads.

    code ─> evaluation ─> the best so far ─> a run of it that went wrong, written into it ─> a model ─> code ─> ...

Code must pass all checks before it is run on the examples. The model is shown another failure each time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic

from njc.evaluation.execution_trace import ExecutionTrace
from njc.evaluation.repair.annotate import annotate_code, remove_step_comments
from njc.evaluation.repair.loop import EvaluationT, Proposal, RefusedProposal
from njc.evaluation.repair.reply import read_rationale
from njc.static.generate import (
    EXAMPLE_MESSAGES,
    REPAIR_SYSTEM_PROMPT,
    CodeCheck,
    extract_code,
    make_code_request,
    make_refusal_messages,
)
from njc.static.holes import Hole, format_question_form
from njc.static.lock import LockScore
from njrt.messages import Message, Request, UserMessage
from njrt.session.examples import Example


@dataclass(frozen=True, slots=True)
class ExampleFailure:
    """An example that the code failed, and the steps of that run."""

    example: Example
    differences: tuple[str, ...]
    trace: ExecutionTrace


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The result of running code on all examples; `failures` are those that may be shown to the model."""

    score: LockScore
    failures: tuple[ExampleFailure, ...] = ()

    @property
    def rank(self) -> tuple[int, ...]:
        return self.score.rank

    @property
    def can_improve(self) -> bool:
        """Whether a failure may be shown to the model."""
        return bool(self.failures)

    def __str__(self) -> str:
        return str(self.score)


@dataclass(frozen=True, slots=True)
class HoleRepair(Generic[EvaluationT]):
    """The repair of a hole's code: by recorded runs, or by a test command."""

    hole: Hole
    check: CodeCheck
    evaluate: Callable[[str], EvaluationT]
    describe: Callable[[Hole, str, EvaluationT, int], str]
    """Describes what went wrong with code, given the number of the request, from 1."""
    asks_rationale: bool = True

    def make_request(
        self,
        code: str,
        evaluation: EvaluationT,
        refused: RefusedProposal | None,
        turn: int,
        temperature: float | None,
    ) -> Request:
        """Describe the failure, and what was refused since."""
        refusal: tuple[Message, ...] = ()
        if refused and refused.code:
            refusal = make_refusal_messages(refused.code, refused.refusals)
        problem = self.describe(self.hole, code, evaluation, turn)
        messages: tuple[Message, ...] = (UserMessage(f"{self.hole.shown}\n\n{problem}"), *refusal)
        if not self.asks_rationale:
            messages = (*EXAMPLE_MESSAGES, *messages)
        request = make_code_request(self.hole, messages, temperature, turn)
        return replace(request, system=REPAIR_SYSTEM_PROMPT) if self.asks_rationale else request

    def read_reply(self, text: str) -> Proposal:
        code = remove_step_comments(extract_code(text, self.hole) or "")
        return Proposal(code, read_rationale(text) if self.asks_rationale else "")


def make_correction_prompt(
    hole: Hole, code: str, evaluation: Evaluation, turn: int, asks_rationale: bool = False
) -> str:
    """Describe a run that went wrong, each time another one, with its steps as comments in the code."""
    failure = evaluation.failures[(turn - 1) % len(evaluation.failures)]
    before = "\n".join(
        f"{name} = {_truncate(text)}" for name, text in failure.example.before.items()
    )
    wrong = "\n".join(f"- {difference}" for difference in failure.differences)
    return f"""\
There is code for this place already. It was run on recorded runs of the program: {evaluation.score}. In one that went \
wrong there was

{before}

and the code did this; the comments are the values after each step:

```python
{annotate_code(code, failure.trace)}
```

{wrong}

Find the mistake in the code, and correct it for all such values: write no special case for these.{make_hint(hole, code)} \
{RATIONALE_INSTRUCTION if asks_rationale else _CODE_INSTRUCTION}"""


_CODE_INSTRUCTION = "Send the code anew, corrected and without these comments: only the statements for the marked place."
RATIONALE_INSTRUCTION = (
    "Write the rationale first, then the code, corrected and without these comments: only the statements for "
    "the marked place."
)


def make_hint(hole: Hole, code: str) -> str:
    """Return a hint for code that asks no model."""
    if hole.helper in code or hole.mode == "auto":
        return ""
    return f" If it takes understanding of a text, ask for what the text says: {format_question_form(hole)}."


_MAX_CHARS = 600


def _truncate(text: str) -> str:
    return text if len(text) <= _MAX_CHARS else f"{text[:_MAX_CHARS]}..."
