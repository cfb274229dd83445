"""Making code better by example: a conversation with a model, as a generator without any I/O.

    code ─> marks ─> the best so far ─> a run of it that went wrong, written into it ─> a model ─> code ─> ...

Code must pass all checks before it is run on the lessons. It is the best code that goes back to the model,
each time with another of its failures; what is worse than it is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

from njc.learning.annotate import Step, annotated
from njc.static.complete import completed
from njc.static.extract import unwrapped
from njc.static.generate import WARMER, Attempt, Check, Cost, request_for
from njc.static.holes import Gap, question_of
from njc.static.lock import Score
from njc.static.prompt import EXAMPLE, NO_CODE, code_in, refused
from njrt.messages import Message, Reply, Request, UserMessage
from njrt.session.examples import Example


@dataclass(frozen=True, slots=True)
class Failure:
    """A lesson that code has failed, and how its run went."""

    lesson: Example
    differences: tuple[str, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Marks:
    """What came of running code on all lessons; `failures` are those that may be shown."""

    score: Score
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class Learned:
    """The best code, how it did, and what there was before."""

    code: str
    score: Score
    first: Score
    attempts: tuple[Attempt, ...] = ()
    cost: Cost = field(default_factory=Cost)


Rehearse = Callable[[str], Marks]
"""Runs code on the lessons."""


def learning(
    gap: Gap,
    check: Check,
    rehearse: Rehearse,
    code: str,
    most: int,
    temperature: float | None = None,
) -> Generator[Request, Reply, Learned]:
    """Have code mended until it is right on all lessons, or `most` replies have come."""
    best = first = rehearse(code)
    attempts: tuple[Attempt, ...] = ()
    cost, tried = Cost(), {code.strip()}
    said: Sequence[Message] = ()
    for turn in range(most):
        if not best.failures:
            break
        lesson = told(gap, code, best, best.failures[turn % len(best.failures)])
        question = UserMessage(f"{gap.shown}\n\n{lesson}")
        reply = yield request_for(gap, (*EXAMPLE, question, *said), temperature, turn + 1)
        cost = cost.with_reply(reply)
        found = code_in(reply.message.text)
        found = "" if found is None else completed(unwrapped(found, gap), gap)
        refusals = (NO_CODE,) if not found else (SAME,) if found.strip() in tried else check(found)
        verdict = refusals
        if not refusals:
            marks = rehearse(found)
            verdict = (str(marks.score),)
            if marks.score.rank > best.score.rank:
                best, code = marks, found
        tried.add(found.strip())
        attempts = (*attempts, Attempt(found or reply.message.text, verdict))
        said = refused(found, refusals) if found and refusals else ()
        if temperature is not None:
            temperature = min(1.0, temperature + WARMER)
    return Learned(code, best.score, first.score, attempts, cost)


SAME = "this code was tried before, and it went wrong: write other code"


def told(gap: Gap, code: str, marks: Marks, failure: Failure) -> str:
    """Say what went wrong in one run, with the run written into the code."""
    before = "\n".join(f"{name} = {_cut(text)}" for name, text in failure.lesson.before.items())
    wrong = "\n".join(f"- {each}" for each in failure.differences)
    return f"""\
There is code for this place already. It was run on recorded runs of the program: {marks.score}. In one that went \
wrong there was

{before}

and the code did this; the comments are the values after each step:

```python
{annotated(code, failure.steps)}
```

{wrong}

Find the mistake in the code, and mend it for all such values: write no special case for these.{_hint(gap, code)} \
Send the code anew, corrected and without these comments: only the statements for the marked place."""


def _hint(gap: Gap, code: str) -> str:
    """What code that asks no model may be lacking."""
    if gap.helper in code or gap.mode == "auto":
        return ""
    return f" If it takes understanding of a text, ask for what the text says: {question_of(gap)}."


_MOST_CHARS = 600


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}..."
