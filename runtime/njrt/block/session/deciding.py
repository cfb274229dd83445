"""How a run that answers with data is asked: by questions if its block decides, otherwise for JSON.

ask_questions ──> an effect    probable enough    it is served
                               below `sure`       Unsure is raised, or a person or a model is asked
              ──> None         without `sure`     the JSON form
"""

from __future__ import annotations

from types import WrapperDescriptorType
from typing import Any

from njrt.block.agent.answer import find_exception, make_effect
from njrt.block.agent.answer_prompt import AnswerPrompt
from njrt.block.agent.conversation import AnswerConversation, converse
from njrt.block.agent.prompt import ANSWER_ROLE
from njrt.block.block import Block
from njrt.block.session.run import BaseRun
from njrt.data.decisions import PendingEffect, is_observer
from njrt.data.records import replace
from njrt.effects import Answer, Effect, NeedsCode, Refusal
from njrt.errors import ConfigurationError, Unsure
from njrt.execution.scope.scope import Scope
from njrt.messages import Request, UserMessage
from njrt.models.wrapped import can_decide
from njrt.values.questions import (
    Answers,
    QuestionConversation,
    ask_questions,
    find_certainty,
    list_probabilities,
    make_decision,
)

DECISION_PROMPT = (
    f"{ANSWER_ROLE}; answer each question about it with the letter of one answer alone."
)
NO_ANSWER = "`sure` needs a block that answers with data: {}"


class DecidingRun(BaseRun):
    """A run that may decide (state: the probabilities of the answers so far)."""

    block: Block
    scope: Scope
    asked: Answers
    is_sure = False
    """Whether the effect that is served next is an answer that reaches `sure`."""

    @property
    def asks_person(self) -> bool:
        """Whether the interceptors decide about what is not sure."""
        options = self.block.options
        return options.sure is not None and options.unsure == "ask"

    def ask_for_answer(self, prompt: AnswerPrompt) -> AnswerConversation:
        """Ask the block's questions if it decides; if not, or without a result, ask for JSON.

        Raises Unsure if the answer is not probable enough, and ConfigurationError if that cannot be
        known.
        """
        sure, text, certainty = self.block.options.sure, prompt.text, None
        questions = self._choose_questions(prompt)
        if sure is not None:
            self._check_unsure(questions is not None)
        answer = None if questions is None else (yield from questions)
        if answer is not None:
            certainty = find_certainty(self.asked) or 0.0
            self.is_sure = sure is None or certainty >= sure
            if self.is_sure or self.asks_person:
                effect = make_effect(answer, prompt.form)
                result = yield from self.serve(effect, len(self.asked))
                if not isinstance(result, Refusal):
                    assert not isinstance(result, Answer | NeedsCode)
                    return result
                text, certainty = f"{text}\n\n{result.message}", None
            self.is_sure = False
        match self.block.options.unsure:
            case "raise" if sure is not None:
                found = "unknown" if certainty is None else f"{certainty:.3f}"
                error = Unsure(f"the probability of the answer is {found}, and `sure` is {sure}")
                error.probabilities = list_probabilities(self.asked)
                raise error
            case str(name) if sure is not None and name != "ask":
                self.session.use_model(name)
        return (yield from self.ask_for_json(prompt, text))

    def ask_for_json(self, prompt: AnswerPrompt, text: str) -> AnswerConversation:
        """Start the conversation that asks for a JSON object."""
        turn = len(self.asked) + 1
        return converse(
            *(self.block, self.session.protocol, text, self.serve, prompt.form, turn),
            attachments=prompt.attachments,
            reopen=lambda: text,
        )

    def describe(self, effect: Effect, turn: int, number: int) -> PendingEffect:
        described = super().describe(effect, turn, number)
        is_sure = self.is_sure if self.asks_person and not self.block.code else None
        return replace(described, probabilities=list_probabilities(self.asked), is_sure=is_sure)

    def _choose_questions(self, prompt: AnswerPrompt) -> QuestionConversation | None:
        """Return the questions if the block decides, by the recording or else by the options."""
        form, options, record = prompt.form, self.block.options, self.session.record
        classes: list[Any] = [find_exception(self.scope, name) for name in form.exceptions]
        have_fields = any(not isinstance(it.__init__, WrapperDescriptorType) for it in classes)
        outputs = {name: each.schema_with_members for name, each in form.outputs.items()}
        returned = None if form.returned is None else form.returned.schema_with_members
        labels, objects = self.block.labels, prompt.objects
        decision = make_decision(outputs, returned, labels, form.exceptions, objects)
        if decision is None or form.is_reasoned or have_fields:
            return None
        opening = Request(
            *(DECISION_PROMPT, (UserMessage(prompt.write_opening(), prompt.attachments),)),
            temperature=0.0,
            max_reply_tokens=1,
            timeout=options.max_call_seconds or 120.0,
            place=self.block.place,
        )
        given = opening, decision, options.authority != "strict", prompt.redact, self.asked
        if record is not None:
            if record.recorder.has_reply(next(ask_questions(*given)).messages):
                return ask_questions(*given)
            if record.recorder.has_reply((UserMessage(prompt.text, prompt.attachments),)):
                return None
        is_wanted = bool(options.decide) or options.sure is not None
        is_replay = record is not None and not record.recorder.records
        may_ask = is_wanted and (is_replay or can_decide(self.session.model))
        return ask_questions(*given) if may_ask else None

    def _check_unsure(self, is_decision: bool) -> None:
        """Raise ConfigurationError if nothing could follow an answer without a probability."""
        has_decisions = self.record is not None and self.record.recorder.has_decisions
        match self.block.options.unsure:
            case "ask" if all(map(is_observer, self.interceptors)) and not has_decisions:
                raise ConfigurationError(
                    '`unsure="ask"` asks the interceptors, and there are none; run the block '
                    "inside `with njrt.using(intercept=njrt.approve())`"
                )
            case "raise" if not is_decision:
                raise ConfigurationError(
                    "`sure` needs a probability: let the block choose among 2 to 19 values, and "
                    "use a model that gives probabilities; or say what follows without one with "
                    '`unsure="ask"` or a model\'s name'
                )
