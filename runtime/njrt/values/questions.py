"""Blocks that choose among a few values: questions to a model, and the probabilities of answers.

    <:topic: Literal["bills", "food"]>      Which is `topic`?
                                            A. bills
                                            B. food
                                            C. none of these can be said
    top tokens "A", " A", "B", "The"        (0.93, 0.06, 0.01), or None: the reply names no answer

A block is a *decision* if each output, or the value to return, is one of at most 19 JSON values:
booleans, literals, members of enums, integers between two bounds, numbers of objects, or None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from njrt.data.outcome import UserValue
from njrt.data.records import record, replace
from njrt.errors import RejectedRequestError
from njrt.messages import Json, Message, ModelMessage, Question, Reply, Request, UserMessage
from njrt.values.introspection import find_meaning
from njrt.values.json_unions import MEMBERS, NUMBERED, flatten_alternatives, list_constants

MAX_ANSWERS = 19
"""With the letter for none of them 20, the most tokens whose probabilities OpenAI's API returns."""

MAX_QUESTIONS = 3
"""A block with more questions is answered as one JSON object."""

ESCAPE = "none of these can be said"
"""The answer that leads to the JSON form, in which the model may ask for code or raise."""

NO_JUMP, RETURN, RAISE = "none", "return", "raise "
"""The answers about jumps, besides labels; `raise` is followed by the exception."""

JUMPS = "(jump)"
"""The name of the question about the jump; that about the value to return is `RETURN`."""

MIN_MASS = 0.5
"""The least probability of all answers together with which a reply counts as one of them."""


@record
class Choice:
    """A value of an output: as text, as JSON, and with the meaning of an enum's member."""

    text: str
    value: Any
    meaning: str = ""


Decision = Mapping[str, Mapping[str, tuple[Choice, ...]]]
"""The questions of a block: after each jump, or none, the values of what is asked then by name."""


def make_decision(
    outputs: Mapping[str, Json],
    returned: Json | None,
    labels: Iterable[str],
    exceptions: Iterable[str],
    objects: Sequence[UserValue],
) -> Decision | None:
    """Return the questions of a block that is a decision, or None.

    The values are given by their schemas with members; `returned` is None unless the block may
    return a value. `objects` are chosen by their numbers.
    """
    value = list_choices(returned, objects) if returned else ()
    decision: dict[str, dict[str, tuple[Choice, ...]]] = {
        NO_JUMP: {name: list_choices(schema, objects) for name, schema in outputs.items()}
    }
    for label in (*labels, *(RAISE + name for name in exceptions)):
        jump = RETURN if label == "bare_return" else label
        decision[jump] = {RETURN: value} if label == "return" else {}
    questions = (len(decision) > 1) + max(map(len, decision.values()))
    is_few = all(all(asked.values()) for asked in decision.values())
    is_decision = is_few and 1 <= questions <= MAX_QUESTIONS and len(decision) <= MAX_ANSWERS
    return decision if is_decision else None


def list_choices(schema: Json, objects: Sequence[UserValue] = ()) -> tuple[Choice, ...]:
    """Return the values of a type by its schema, if they are from 2 to 19; otherwise none.

    None, too, if their texts are not different lines.
    """
    choices = list[Choice]()
    for part in flatten_alternatives([schema], schema):
        if not (found := _list_values(part, objects)):
            return ()
        choices += found
    texts = [choice.text for choice in choices]
    are_lines = all(text.isprintable() and text and text == text.strip() for text in texts)
    is_few = 2 <= len(choices) <= MAX_ANSWERS and len({*texts, ESCAPE}) > len(texts)
    return tuple(choices) if is_few and are_lines else ()


def _list_values(schema: Json, objects: Sequence[UserValue]) -> Sequence[Choice]:
    """Return the values of a schema without alternatives; none if they are not a few."""
    if (kind := schema.get(NUMBERED)) is not None:
        numbers = [number for number, it in enumerate(objects, 1) if isinstance(it, kind)]
        return [Choice(f"#{number}", number) for number in numbers]
    if members := schema.get(MEMBERS):
        return [
            Choice(name, name, find_meaning(members.get(name))) for name in list_constants(schema)
        ]
    values = list_constants(schema)
    match schema:
        case {"type": "boolean"} if not values:
            values = [True, False]
        case {"type": "null"}:
            values = [None]
        case {"type": "integer", "minimum": int(least), "maximum": int(most), **others} if (
            not values
            and not others.keys() & {"exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
        ):
            values = range(least, most + 1)[: MAX_ANSWERS + 1]
    return [Choice(str(value), value) for value in values]


def make_question(name: str, choices: Sequence[Choice], has_escape: bool) -> Question:
    """Return the question about an output, the value to return, or the jump."""
    texts = {JUMPS: "Which jump does the instruction ask for here?", RETURN: "What is returned?"}
    answers = (*(choice.text for choice in choices), *([ESCAPE] if has_escape else ()))
    return Question(name, texts.get(name, f"Which is `{name}`?"), answers)


def format_question(question: Question, choices: Sequence[Choice] = ()) -> str:
    """Return a question as text, with a letter before each answer."""
    meanings = [f": {choice.meaning}" if choice.meaning else "" for choice in choices]
    lines = zip_longest(LETTERS[: len(question.answers)], question.answers, meanings, fillvalue="")
    answers = [f"{letter}. {answer}{meaning}" for letter, answer, meaning in lines]
    return "\n".join([question.text, *answers, "Reply with one letter."])


def describe_values(name: str, choices: Sequence[Choice]) -> str:
    """Return a line with the values of an output and their meanings."""
    values = (f"{it.text} ({it.meaning})" if it.meaning else it.text for it in choices)
    return f"`{name}` is one of: {', '.join(values)}"


LETTERS = "ABCDEFGHIJKLMNOPQRST"


def read_letters(
    tokens: Iterable[tuple[str, float]], question: Question
) -> tuple[float, ...] | None:
    """Return the probabilities of a question's answers from the likeliest first tokens of a reply.

    `tokens` are texts with log probabilities; `A`, ` A` and `a` are the same answer. None if less
    than half of the probability is on the letters, or the numbers are not probabilities.
    """
    letters = LETTERS[: len(question.answers)]
    found = dict.fromkeys(letters, 0.0)
    for token, logarithm in tokens:
        if (letter := token.strip().upper()) in found:
            if not logarithm <= 0.0:  # nor is it NaN
                return None
            found[letter] += math.exp(logarithm)
    mass = sum(found.values())
    if not MIN_MASS <= mass <= 1 + TOLERANCE:
        return None
    return tuple(found[letter] / mass for letter in letters)


TOLERANCE = 0.005
"""How far a probability may be off, because some servers round it to two digits."""


def check_probabilities(values: Sequence[float], question: Question) -> tuple[float, ...] | None:
    """Return the probabilities of a question's answers, None if the numbers are none."""
    is_each = len(values) == len(question.answers) and all(0.0 <= value <= 1.0 for value in values)
    is_whole = is_each and abs(sum(values) - 1.0) <= TOLERANCE * max(2, len(values))
    return tuple(values) if is_whole else None


def choose_answer(probabilities: Sequence[float]) -> int:
    """Return the index of the likeliest answer, the first of equal ones."""
    return max(range(len(probabilities)), key=probabilities.__getitem__)


Answers = list[tuple[Question | None, Sequence[float] | None]]
"""The questions of the requests so far, with the probabilities of the answers."""

QuestionConversation = Generator[Request, Any, dict[str, Any] | None]
"""Yields requests and gets the replies; returns the answer as a reply in JSON has it, if any."""


def ask_questions(
    opening: Request,
    decision: Decision,
    has_escape: bool,
    redact: Callable[[str], str],
    asked: Answers,
) -> QuestionConversation:
    """Ask about the jump, then about what follows it; each question is added to `asked`.

    `opening` is the first request without its question. The result is None if the JSON form is
    needed: a reply has no probabilities, or the likeliest answer is that none can be given.
    """
    (first,) = opening.messages
    assert isinstance(first, UserMessage)
    messages: tuple[Message, ...] = ()
    lines, files, answer = [first.text], first.attachments, dict[str, Any]()
    left = list(decision[NO_JUMP].items())
    if len(decision) > 1:  # the model must know between which values the block would choose
        lines += [redact(describe_values(*each)) for each in left]
        left = [(JUMPS, tuple(Choice(text, text) for text in decision))]
    while left:
        name, choices = left.pop(0)
        question = make_question(name, choices, has_escape)
        lines.append(redact(format_question(question, choices)))
        messages = (*messages, UserMessage("\n".join(lines), files))
        try:
            reply: Reply = yield replace(
                opening, messages=messages, turn=len(asked) + 1, question=question
            )
        except RejectedRequestError:  # by a server that knows no log probabilities
            return None
        probabilities = check_probabilities(reply.probabilities or (), question)
        asked.append((question, probabilities))
        if probabilities is None or (best := choose_answer(probabilities)) == len(choices):
            return None
        messages, lines, files = (*messages, ModelMessage(LETTERS[best])), [], ()
        if name != JUMPS:
            answer[name] = choices[best].value
            continue
        left = list(decision[choices[best].text].items())
        verb, _, exception = choices[best].text.partition(" ")
        if verb != NO_JUMP and not left:
            answer[verb] = exception or (None if verb == RETURN else True)
    return answer or {"pass": True}


def list_probabilities(asked: Answers) -> dict[str, dict[str, float]]:
    """Return the probabilities of the answers by question, without the questions that have none."""
    return {
        question.name: dict(zip(question.answers, found, strict=False))
        for question, found in asked
        if question is not None and found is not None
    }


def find_certainty(asked: Answers) -> float | None:
    """Return the least probability of the likeliest answers; None if one has no probability."""
    found = [max(probabilities) for _, probabilities in asked if probabilities]
    return min(found) if 0 < len(found) == len(asked) else None
