"""How a run that answers with data is asked: by questions if its block decides, otherwise for JSON.

Questions ──> an effect    probable enough    it is served
                           below `sure`       Unsure is raised, or a person or a model is asked
          ──> none         without `sure`     the JSON form
"""

from __future__ import annotations

from njrt.agent.answer_prompt import AnswerPrompt
from njrt.agent.conversation import AnswerConversation, converse
from njrt.agent.decide import Questions, find_decision
from njrt.block import Block
from njrt.decisions import PendingEffect, is_observer
from njrt.effects import Answer, Effect, NeedsCode, Refusal
from njrt.errors import ConfigurationError, Unsure
from njrt.messages import UserMessage
from njrt.models.wrapped import can_decide
from njrt.questions import find_certainty, list_probabilities
from njrt.records import replace
from njrt.scope.scope import Scope
from njrt.session.run import BaseRun

NO_ANSWER = "`sure` needs a block that answers with data: {}"


class DecidingRun(BaseRun):
    """A run that may decide (state: the questions so far)."""

    block: Block
    scope: Scope
    questions: Questions | None = None
    is_sure = False
    """Whether the effect that is served next is an answer that reaches `sure`."""

    @property
    def asks_person(self) -> bool:
        """Whether the interceptors decide about what is not sure."""
        options = self.block.options
        return options.sure is not None and options.unsure == "ask"

    @property
    def probabilities(self) -> dict[str, dict[str, float]]:
        """The probabilities of the answers so far."""
        return list_probabilities(self.questions.asked) if self.questions else {}

    def ask_for_answer(self, prompt: AnswerPrompt) -> AnswerConversation:
        """Ask the block's questions if it decides; if not, or without a result, ask for JSON.

        Raises Unsure if the answer is not probable enough, and ConfigurationError if that cannot be
        known.
        """
        sure, text, turn, certainty = self.block.options.sure, prompt.text, 1, None
        self.questions = questions = self._choose_questions(prompt)
        if sure is not None:
            self._check_unsure(questions)
        if questions is not None:
            effect = yield from questions.ask()
            turn = len(questions.asked) + 1
            certainty = effect and find_certainty(questions.asked)
            is_sure = certainty is not None and certainty >= (sure or 0.0)
            if effect is not None and (is_sure or self.asks_person):
                self.is_sure = is_sure
                result = yield from self.serve(effect, turn - 1)
                self.is_sure = False
                if not isinstance(result, Refusal):
                    assert not isinstance(result, Answer | NeedsCode)
                    return result
                text, certainty = f"{text}\n\n{result.message}", None
        match self.block.options.unsure:
            case "raise" if sure is not None:
                found = "unknown" if certainty is None else f"{certainty:.3f}"
                error = Unsure(f"the probability of the answer is {found}, and `sure` is {sure}")
                error.probabilities = self.probabilities
                raise error
            case str(name) if sure is not None and name != "ask":
                self.session.use_model(name)
        return (
            yield from converse(
                *(self.block, self.session.protocol, text, self.serve, prompt.form, turn),
                attachments=prompt.attachments,
                reopen=lambda: text,
            )
        )

    def describe(self, effect: Effect, turn: int, number: int) -> PendingEffect:
        described = super().describe(effect, turn, number)
        is_sure = self.is_sure if self.asks_person and not self.block.code else None
        return replace(described, probabilities=self.probabilities, is_sure=is_sure)

    def _choose_questions(self, prompt: AnswerPrompt) -> Questions | None:
        """Return the questions if the block decides, by the recording or else by the options."""
        session, options = self.session, self.block.options
        is_wanted, record = bool(options.decide) or options.sure is not None, session.record
        if not (is_wanted or record):
            return None
        if (decision := find_decision(self.block, self.scope, prompt)) is None:
            return None
        questions = Questions(self.block, prompt, decision)
        if record is not None:
            if record.has_reply(next(questions.ask()).messages):
                return questions
            if record.has_reply((UserMessage(prompt.text, prompt.attachments),)):
                return None
        is_replay = record is not None and record.is_replay
        return questions if is_wanted and (is_replay or can_decide(session.model)) else None

    def _check_unsure(self, questions: Questions | None) -> None:
        """Raise ConfigurationError if nothing could follow an answer without a probability."""
        has_decisions = self.record is not None and self.record.has_decisions
        match self.block.options.unsure:
            case "ask" if all(map(is_observer, self.interceptors)) and not has_decisions:
                raise ConfigurationError(
                    '`unsure="ask"` asks the interceptors, and there are none; run the block '
                    "inside `with njrt.using(intercept=njrt.approve())`"
                )
            case "raise" if questions is None:
                raise ConfigurationError(
                    "`sure` needs a probability: let the block choose among 2 to 19 values, and "
                    "use a model that gives probabilities; or say what follows without one with "
                    '`unsure="ask"` or a model\'s name'
                )
