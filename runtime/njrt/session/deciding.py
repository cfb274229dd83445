"""How a run that answers with data is asked: by questions if its block decides, otherwise for JSON.

Questions ──> Decided      probable enough    the effect is served
                           below `sure`       Unsure is raised, or a person or a model is asked
          ──> Undecided    without `sure`     the JSON form
"""

from __future__ import annotations

from njrt.agent.answer_prompt import AnswerPrompt
from njrt.agent.conversation import AnswerConversation, converse
from njrt.agent.decide import Decided, Questions, find_decision
from njrt.block import Block
from njrt.decisions import PendingEffect, is_observer
from njrt.effects import Answer, Effect, NeedsCode, Refusal
from njrt.errors import ConfigurationError, Unsure
from njrt.messages import UserMessage
from njrt.models.decisions import can_decide
from njrt.questions import list_probabilities
from njrt.records import replace
from njrt.scope.scope import Scope
from njrt.session.run import BaseRun

NO_ANSWER = "`sure` needs a block that answers with data: {}"


class DecidingRun(BaseRun):
    """A run that may decide (state: the questions so far)."""

    block: Block
    scope: Scope
    questions: Questions | None = None
    is_sure: bool | None = None
    """With `unsure="ask"`, whether nobody need be asked about the next effect."""

    @property
    def probabilities(self) -> dict[str, dict[str, float]]:
        """The probabilities of the answers so far."""
        return list_probabilities(self.questions.asked) if self.questions else {}

    def ask_for_answer(self, prompt: AnswerPrompt) -> AnswerConversation:
        """Ask the block's questions if it decides; if not, or without a result, ask for JSON.

        Raises Unsure if the answer is not probable enough, and ConfigurationError if that cannot be
        known.
        """
        sure, advice, turn = self.block.options.sure, "", 1
        asks_person = self.block.options.unsure == "ask"
        self.questions = questions = self._choose_questions(prompt)
        if sure is not None:
            self._check_unsure(questions)
            self.is_sure = False if asks_person else None
        below: Decided | None = None
        if questions is not None:
            ending = yield from questions.ask()
            turn = ending.requests + 1
            if isinstance(ending, Decided):
                is_sure = sure is None or ending.certainty >= sure
                below = None if is_sure else ending
                if below and asks_person:
                    self._check_person()
                if is_sure or asks_person:
                    if self.is_sure is not None:
                        self.is_sure = is_sure
                    result = yield from self.serve(ending.effect, ending.requests)
                    if self.is_sure is not None:
                        self.is_sure = False
                    if not isinstance(result, Refusal):
                        assert not isinstance(result, Answer | NeedsCode)
                        return result
                    advice = f"\n\n{result.message}"
        if sure is not None:
            self._meet_unsure(below)
        text = prompt.text + advice
        return (
            yield from converse(
                *(self.block, self.session.protocol, text, self.serve, prompt.form, turn),
                attachments=prompt.attachments,
                reopen=lambda: text,
            )
        )

    def describe(self, effect: Effect, turn: int, number: int) -> PendingEffect:
        described = super().describe(effect, turn, number)
        if self.questions is None and self.is_sure is None:
            return described
        return replace(described, probabilities=self.probabilities, is_sure=self.is_sure)

    def _choose_questions(self, prompt: AnswerPrompt) -> Questions | None:
        """Return the questions if the block decides, by the recording or else by the options."""
        session, options = self.session, self.block.options
        is_wanted = bool(options.decide) or options.sure is not None
        if (decision := find_decision(self.block, self.scope, prompt)) is None:
            return None
        questions = Questions(self.block, prompt, decision, session.model)
        if (record := session.record) is not None:
            if record.has_reply(questions.make_first_request().messages):
                return questions
            if record.has_reply((UserMessage(prompt.text, prompt.attachments),)):
                return None
            if record.is_replay:
                return questions if is_wanted else None
        return questions if is_wanted and can_decide(session.model) else None

    def _check_unsure(self, questions: Questions | None) -> None:
        """Raise ConfigurationError if nothing could follow an answer without a probability."""
        record = self.session.record
        match self.block.options.unsure:
            case "ask":
                if record is None or not record.is_replay:
                    self._check_person()
            case "raise" if questions is None:
                way = 'or say with `unsure="ask"` or a model\'s name what follows without one'
                raise ConfigurationError(f"`sure` needs a probability, {self._explain()}; {way}")

    def _explain(self) -> str:
        """Return why the answer has no probability."""
        if self.session.record is not None and self.session.record.is_replay:
            return "and the recording has none: record the block again"
        if not can_decide(self.session.model):
            return f"and {self.session.model.name} gives none: use another model"
        return "and this block is no decision: let it choose among 2 to 19 values"

    def _check_person(self) -> None:
        """Raise ConfigurationError if `unsure="ask"` finds nobody."""
        is_decided = self.record is not None and self.record.has_decisions
        if all(map(is_observer, self.interceptors)) and not is_decided:
            raise ConfigurationError(
                '`unsure="ask"` asks the interceptors, and there are none; run the block inside '
                "`with njrt.using(intercept=njrt.approve())`"
            )

    def _meet_unsure(self, decided: Decided | None) -> None:
        """Raise Unsure, or see to it that a person or another model decides."""
        options = self.block.options
        match options.unsure:
            case "raise":
                found = "unknown" if decided is None else f"{decided.certainty:.3f}"
                error = Unsure(
                    f"the probability of the answer is {found}, and `sure` is {options.sure}"
                )
                error.probabilities = self.probabilities
                raise error
            case "ask":
                self._check_person()
            case str(name):
                self.session.use_model(name)
