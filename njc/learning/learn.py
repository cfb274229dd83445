"""Correcting the code of a block by recorded runs: what `njc.repair.loop` tests, asks and reads.

    code ─> evaluation ─> the best so far ─> a run of it that went wrong, written into it ─> a model ─> code ─> ...

Code must pass all checks before it is run on the examples. The model is shown another failure each time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from njc.execution_trace import ExecutionTrace
from njc.repair.annotate import annotate_code, remove_step_comments
from njc.repair.loop import Proposal, RefusedProposal
from njc.repair.reply import read_rationale
from njc.static.extract import extract_code
from njc.static.generate import CodeCheck, make_code_request
from njc.static.holes import Hole, format_question_form
from njc.static.lock import LockScore
from njc.static.prompt import EXAMPLE_MESSAGES, REPAIR_SYSTEM_PROMPT, make_refusal_messages
from njrt.messages import Request, UserMessage
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
        """What to compare evaluations by."""
        return self.score.rank

    @property
    def can_improve(self) -> bool:
        """Whether a failure may be shown to the model."""
        return bool(self.failures)

    def __str__(self) -> str:
        return str(self.score)


EvaluateCode = Callable[[str], Evaluation]
"""Runs code on the examples."""


@dataclass(frozen=True, slots=True)
class LearningRepair:
    """The repair of a hole's code by recorded runs."""

    hole: Hole
    find_refusals: CodeCheck
    run_examples: EvaluateCode
    asks_rationale: bool = False

    def evaluate(self, code: str) -> Evaluation:
        """Run code on the examples."""
        return self.run_examples(code)

    def check(self, code: str) -> tuple[str, ...]:
        """The reasons not to run code."""
        return self.find_refusals(code)

    def make_request(
        self,
        code: str,
        evaluation: Evaluation,
        refused: RefusedProposal | None,
        turn: int,
        temperature: float | None,
    ) -> Request:
        """Show a run that went wrong, each time another one."""
        failure = evaluation.failures[(turn - 1) % len(evaluation.failures)]
        example = make_correction_prompt(self.hole, code, evaluation, failure, self.asks_rationale)
        return make_correction_request(
            self.hole, example, refused, temperature, turn, self.asks_rationale
        )

    def read_reply(self, text: str) -> Proposal:
        """The code of a reply, and its rationale if one was asked for."""
        code = remove_step_comments(extract_code(text, self.hole) or "")
        return Proposal(code, read_rationale(text) if self.asks_rationale else "")


def make_correction_request(
    hole: Hole,
    problem: str,
    refused: RefusedProposal | None,
    temperature: float | None,
    turn: int,
    asks_rationale: bool,
) -> Request:
    """The request for corrected code of a hole; `problem` describes the failure."""
    refusal = (
        make_refusal_messages(refused.code, refused.refusals) if refused and refused.code else ()
    )
    question = UserMessage(f"{hole.shown}\n\n{problem}")
    if not asks_rationale:
        return make_code_request(hole, (*EXAMPLE_MESSAGES, question, *refusal), temperature, turn)
    request = make_code_request(hole, (question, *refusal), temperature, turn)
    return replace(request, system=REPAIR_SYSTEM_PROMPT)


def make_correction_prompt(
    hole: Hole,
    code: str,
    evaluation: Evaluation,
    failure: ExampleFailure,
    asks_rationale: bool = False,
) -> str:
    """Describe one run that went wrong, with its steps as comments in the code."""
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
    """A hint for code that asks no model."""
    if hole.helper in code or hole.mode == "auto":
        return ""
    return f" If it takes understanding of a text, ask for what the text says: {format_question_form(hole)}."


_MAX_CHARS = 600


def _truncate(text: str) -> str:
    return text if len(text) <= _MAX_CHARS else f"{text[:_MAX_CHARS]}..."
