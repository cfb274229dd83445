"""The conversation with a model about a decision: one question after the other, one letter each.

    Request(question=...)   ──yielded──>  the model   ──sent back──>  Reply(probabilities=...)

It returns the effect, or None if the JSON form is needed: a reply gives no probabilities, or the
likeliest answer is that none can be given. Jumps are asked first; the probabilities of later
questions hold if the answers so far are right.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from types import WrapperDescriptorType
from typing import Any

from njrt.agent.answer import find_exception
from njrt.agent.answer_prompt import AnswerPrompt
from njrt.agent.conversation import StepResult
from njrt.agent.prompt import ANSWER_ROLE
from njrt.block import Block
from njrt.effects import BindOutputs, BreakLoop, ContinueLoop, Effect, RaiseNamed, ReturnAnswer
from njrt.errors import RejectedRequestError
from njrt.messages import Message, ModelMessage, Question, Reply, Request, UserMessage
from njrt.questions import (
    JUMPS,
    LETTERS,
    NO_JUMP,
    RAISE,
    RETURNED,
    Choice,
    Decision,
    check_probabilities,
    choose_answer,
    describe_values,
    format_question,
    make_decision,
    make_question,
)
from njrt.scope.scope import Scope

DECISION_PROMPT = (
    f"{ANSWER_ROLE}; answer each question about it with the letter of one answer alone."
)


def find_decision(block: Block, scope: Scope, prompt: AnswerPrompt) -> Decision | None:
    """Return the questions of a block that is a decision, or None."""
    form = prompt.form
    if form.is_reasoned or not all(_is_plain(find_exception(scope, it)) for it in form.exceptions):
        return None
    outputs = {name: each.schema_with_members for name, each in form.outputs.items()}
    returned = form.returned and form.returned.schema_with_members
    return make_decision(outputs, returned, block.labels, form.exceptions, prompt.objects)


def _is_plain(kind: Any) -> bool:
    """Return whether an exception class has no `__init__` of its own, and so no fields."""
    return isinstance(kind.__init__, WrapperDescriptorType)


class Questions:
    """The requests of one decision (state: the messages and the probabilities so far)."""

    def __init__(self, block: Block, prompt: AnswerPrompt, decision: Decision) -> None:
        self.block, self.decision, self.redact = block, decision, prompt.redact
        # Who is asked about a jump must know between which values the block would choose.
        values = decision[NO_JUMP].items() if len(decision) > 1 else ()
        opening = "\n".join(
            [prompt.write_opening(), *(prompt.redact(describe_values(*it)) for it in values)]
        )
        self.messages: tuple[Message, ...] = (UserMessage(opening, prompt.attachments),)
        self.asked: list[tuple[Question, Sequence[float] | None]] = []

    def ask(self) -> Generator[Request, StepResult, Effect | None]:
        """Ask about the jump, then about each output or the value to return."""
        jump, jumps = NO_JUMP, tuple(Choice(text, text) for text in self.decision)
        if len(jumps) > 1:
            if (choice := (yield from self._ask(JUMPS, jumps))) is None:
                return None
            jump = choice.text
        values: dict[str, Any] = {}
        for name, choices in self.decision[jump].items():
            if (choice := (yield from self._ask(name, choices))) is None:
                return None
            values[name] = choice.value
        return _make_effect(jump, values)

    def _ask(
        self, name: str, choices: Sequence[Choice]
    ) -> Generator[Request, StepResult, Choice | None]:
        """Ask one question; return the likeliest answer, None if it is none of the choices."""
        options = self.block.options
        question = make_question(name, choices, has_escape=options.authority != "strict")
        text = self.redact(format_question(question, choices))
        messages: tuple[Message, ...] = (*self.messages, UserMessage(text))
        match self.messages:
            case (UserMessage(opening, attachments),):  # not two messages of a user in a row
                messages = (UserMessage(f"{opening}\n{text}", attachments),)
        try:
            reply = yield Request(
                *(DECISION_PROMPT, messages),
                temperature=0.0,
                max_reply_tokens=1,
                timeout=options.max_call_seconds or 120.0,
                place=self.block.place,
                turn=len(self.asked) + 1,
                question=question,
            )
        except RejectedRequestError:  # by a server that knows no log probabilities
            return None
        assert isinstance(reply, Reply)
        probabilities = check_probabilities(reply.probabilities or (), question)
        self.asked.append((question, probabilities))
        if probabilities is None or (best := choose_answer(probabilities)) == len(choices):
            return None
        self.messages = (*messages, ModelMessage(LETTERS[best]))
        return choices[best]


def _make_effect(jump: str, values: dict[str, Any]) -> Effect:
    match jump:
        case "none":
            return BindOutputs(values)
        case "break":
            return BreakLoop()
        case "continue":
            return ContinueLoop()
        case "return":
            return ReturnAnswer(values.get(RETURNED))
        case _:
            return RaiseNamed(jump.removeprefix(RAISE), "")
