"""Correcting code by recorded runs: a conversation with a model, as a generator without I/O.

    code ─> evaluation ─> the best so far ─> a run of it that went wrong, written into it ─> a model ─> code ─> ...

Code must pass all checks before it is run on the examples. The best code so far goes back to the model, each time with
another of its failures; code that is worse is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

from njc.learning.annotate import LineStep, annotate_code
from njc.static.extract import extract_code
from njc.static.generate import (
    TEMPERATURE_STEP,
    CodeCheck,
    GenerationAttempt,
    GenerationCost,
    make_code_request,
)
from njc.static.holes import Hole, format_question_form
from njc.static.lock import LockScore
from njc.static.prompt import EXAMPLE_MESSAGES, NO_CODE, make_refusal_messages
from njrt.messages import Message, Reply, Request, UserMessage
from njrt.session.examples import Example


@dataclass(frozen=True, slots=True)
class ExampleFailure:
    """An example that the code failed, and the steps of that run."""

    example: Example
    differences: tuple[str, ...]
    steps: tuple[LineStep, ...]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The result of running code on all examples; `failures` are those that may be shown to the model."""

    score: LockScore
    failures: tuple[ExampleFailure, ...] = ()


@dataclass(frozen=True, slots=True)
class LearnedCode:
    """The best code with its score, and the score of the code before."""

    code: str
    score: LockScore
    first: LockScore
    attempts: tuple[GenerationAttempt, ...] = ()
    cost: GenerationCost = field(default_factory=GenerationCost)


EvaluateCode = Callable[[str], Evaluation]
"""Runs code on the examples."""


def learn_code(
    hole: Hole,
    check: CodeCheck,
    evaluate: EvaluateCode,
    code: str,
    max_attempts: int,
    temperature: float | None = None,
) -> Generator[Request, Reply, LearnedCode]:
    """Have code corrected until it is right on all examples, or after `max_attempts` replies."""
    best = first = evaluate(code)
    attempts: tuple[GenerationAttempt, ...] = ()
    cost, tried = GenerationCost(), {code.strip()}
    refusal: Sequence[Message] = ()
    for turn in range(max_attempts):
        if not best.failures:
            break
        example = make_correction_prompt(hole, code, best, best.failures[turn % len(best.failures)])
        question = UserMessage(f"{hole.shown}\n\n{example}")
        reply = yield make_code_request(
            hole, (*EXAMPLE_MESSAGES, question, *refusal), temperature, turn + 1
        )
        cost = cost.add_reply(reply)
        found = extract_code(reply.message.text, hole) or ""
        refusals = (
            (NO_CODE,)
            if not found
            else (REPEATED_CODE,)
            if found.strip() in tried
            else check(found)
        )
        verdict = refusals
        if not refusals:
            evaluation = evaluate(found)
            verdict = (str(evaluation.score),)
            if evaluation.score.rank > best.score.rank:
                best, code = evaluation, found
        tried.add(found.strip())
        attempts = (*attempts, GenerationAttempt(found or reply.message.text, verdict))
        refusal = make_refusal_messages(found, refusals) if found and refusals else ()
        if temperature is not None:
            temperature = min(1.0, temperature + TEMPERATURE_STEP)
    return LearnedCode(code, best.score, first.score, attempts, cost)


REPEATED_CODE = "this code was tried before and was wrong: write other code"


def make_correction_prompt(
    hole: Hole, code: str, evaluation: Evaluation, failure: ExampleFailure
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
{annotate_code(code, failure.steps)}
```

{wrong}

Find the mistake in the code, and correct it for all such values: write no special case for these.{_make_hint(hole, code)} \
Send the code anew, corrected and without these comments: only the statements for the marked place."""


def _make_hint(hole: Hole, code: str) -> str:
    """A hint for code that asks no model."""
    if hole.helper in code or hole.mode == "auto":
        return ""
    return f" If it takes understanding of a text, ask for what the text says: {format_question_form(hole)}."


_MAX_CHARS = 600


def _truncate(text: str) -> str:
    return text if len(text) <= _MAX_CHARS else f"{text[:_MAX_CHARS]}..."
