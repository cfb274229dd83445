"""Models with an endpoint for questions: OpenAI's `/v1/decisions`, PydanticAI's decision models.

    openai/gpt-6-luna            OpenAIDecisions(OpenAI("gpt-6-luna"))     all else is chat
    pydantic-ai:system-one:...   PydanticAIDecisions(PydanticAI(...))      questions only

A question about True or False is a predicate, any other one a choice among texts. Questions with
files are not sent, and a refused question has no probabilities: the block then asks for JSON.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from njrt.errors import ModelError, RejectedRequestError, ServerError
from njrt.messages import ModelMessage, Question, Reply, Request, Usage, UserMessage
from njrt.models.model import ModelAround
from njrt.models.network import get_network
from njrt.models.prices import add_price
from njrt.models.response import MalformedReplyError, validate_reply
from njrt.models.server import make_model_error
from njrt.questions import LETTERS, check_probabilities, choose_answer
from njrt.records import record

RETRIES = 3


class DecidingModel(ModelAround):
    """A model whose questions go to an endpoint of their own."""

    can_decide = True
    model: Any

    def __init__(self, model: Any) -> None:
        self.model = model

    def ask(self, request: Request) -> Reply:
        if request.question is None:
            return self.answer_otherwise(request)
        return get_network().run(self._decide_in_time(request, request.question))

    async def aask(self, request: Request) -> Reply:
        if request.question is None:
            return await self.aanswer_otherwise(request)
        return await get_network().arun(self._decide_in_time(request, request.question))

    def answer_otherwise(self, request: Request) -> Reply:
        """Answer a request without a question."""
        reply: Reply = self.model.ask(request)
        return reply

    async def aanswer_otherwise(self, request: Request) -> Reply:
        """Do the same without blocking."""
        reply: Reply = await self.model.aask(request)
        return reply

    async def decide(self, request: Request, question: Question, state: str) -> Reply:
        """Return the reply to a question about a text, without probabilities if it is refused."""
        raise NotImplementedError

    async def _decide_in_time(self, request: Request, question: Question) -> Reply:
        users = [it for it in request.messages if isinstance(it, UserMessage)]
        if any(message.attachments for message in users):
            return Reply(ModelMessage(""), model=self.name)
        texts = [it.text for it in request.messages if isinstance(it, UserMessage | ModelMessage)]
        try:
            async with asyncio.timeout(request.timeout):
                return await self.decide(request, question, "\n".join([request.system, *texts]))
        except TimeoutError:
            raise ServerError(f"no reply of {self.name} within {request.timeout:g} s") from None
        except MalformedReplyError as error:
            raise ServerError(f"{self.name} sent an unreadable reply ({error})") from None


def is_predicate(question: Question) -> bool:
    """Return whether a question is about True or False."""
    return question.answers[: len(question.answers) - question.has_escape] == ("True", "False")


def make_reply(
    question: Question, found: Sequence[float] | None, usage: Usage, model: str
) -> Reply:
    """Return a reply with these probabilities, or without any if they are none."""
    if found is not None and is_predicate(question):
        found = (found[0], 1.0 - found[0], 0.0)[: len(question.answers)]
    probabilities = check_probabilities(found or (), question)
    text = LETTERS[choose_answer(probabilities)] if probabilities else ""
    return Reply(ModelMessage(text), "end", usage, model, probabilities=probabilities)


# ── OpenAI ───────────────────────────────────────────────────────────────────────────────────────


@record
class ChoiceProbability:
    """The probability of a value."""

    value: str | bool
    probability: float


@record
class DecisionAnswer:
    """An answer: a predicate's probability, or those of all choices, or a refusal."""

    type: str
    probability: float | None = None
    probabilities: list[ChoiceProbability] | None = None


@record
class DecisionUsage:
    """The tokens of a decision."""

    input_tokens: int = 0
    output_tokens: int = 0


@record
class OpenAIDecision:
    """The fields of a response that are used here."""

    answers: list[DecisionAnswer]
    usage: DecisionUsage | None = None
    model: str = ""


class OpenAIDecisions(DecidingModel):
    """A model of OpenAI with the endpoint `/v1/decisions`."""

    async def decide(self, request: Request, question: Question, state: str) -> Reply:
        import openai

        client = self.model.get_client().with_options(max_retries=RETRIES, timeout=request.timeout)
        try:
            response = await client.decisions.with_raw_response.create(
                model=self.name.partition("/")[2],
                input=state,
                questions=[make_openai_question(question)],
            )
            decision = validate_reply(response.http_response.json(), OpenAIDecision)
        except openai.OpenAIError as failure:
            raise make_model_error(failure, self.name, self.model.server) from None
        except ValueError:
            raise MalformedReplyError("no JSON") from None
        used = decision.usage or DecisionUsage()
        usage = add_price(self.name, Usage(used.input_tokens, used.output_tokens), 0)
        found = read_openai_answer(decision.answers, question)
        return make_reply(question, found, usage, decision.model or self.name)


def make_openai_question(question: Question) -> dict[str, Any]:
    """Return a question in OpenAI's form."""
    if is_predicate(question):
        return {"type": "predicate", "name": "answer", "instructions": f"`{question.name}` is True"}
    choices = [{"value": answer} for answer in question.answers]
    text = question.text
    return {"type": "choice", "name": "answer", "instructions": text, "choices": choices}


def read_openai_answer(
    answers: Sequence[DecisionAnswer], question: Question
) -> tuple[float, ...] | None:
    """Return the probabilities in the only answer, None if it is refused or of another type."""
    match answers:
        case [DecisionAnswer("predicate", float() | int() as found)] if is_predicate(question):
            return (found,)
        case [DecisionAnswer("choice", None, list() as listed)]:
            by_value = {it.value: it.probability for it in listed if isinstance(it.value, str)}
            if len(listed) == len(by_value) and by_value.keys() == {*question.answers}:
                return tuple(by_value[answer] for answer in question.answers)
    return None


# ── PydanticAI ───────────────────────────────────────────────────────────────────────────────────


class PydanticAIDecisions(DecidingModel):
    """A decision model of PydanticAI, which answers nothing but questions."""

    def answer_otherwise(self, request: Request) -> Reply:
        raise RejectedRequestError(
            f"{self.name} only answers questions with a few answers: set `decide = true` for "
            "blocks that `njc show` calls decisions, and ask another model in the others"
        )

    async def aanswer_otherwise(self, request: Request) -> Reply:
        return self.answer_otherwise(request)

    async def decide(self, request: Request, question: Question, state: str) -> Reply:
        from pydantic_ai.exceptions import AgentRunError, ContentFilterError, UserError
        from pydantic_ai.models.decision import (
            ChoiceAnswer,
            ChoiceQuestion,
            DecisionModelSettings,
            DecisionRequest,
            NoulAnswer,
            NoulQuestion,
        )

        asked: NoulQuestion | ChoiceQuestion = ChoiceQuestion(
            instructions=question.text, criteria=dict.fromkeys(question.answers)
        )
        if is_predicate(question):
            asked = NoulQuestion(instructions=f"`{question.name}` is True")
        try:
            response = await self.model.get_model().decide(
                DecisionRequest(state=state, questions={"answer": asked}),
                DecisionModelSettings(timeout=request.timeout),
            )
        except ContentFilterError:
            return Reply(ModelMessage(""), model=self.name)
        except (AgentRunError, UserError) as failure:
            raise self._explain(failure) from None
        found: tuple[float, ...] | None = None
        match response.answers.get("answer"):
            case NoulAnswer(noul=probability):
                found = (probability,)
            case ChoiceAnswer(probabilities=given) if given.keys() == {*question.answers}:
                found = tuple(given[answer] for answer in question.answers)
        usage = Usage(response.usage.input_tokens, response.usage.output_tokens)
        return make_reply(question, found, usage, response.model_name)

    def _explain(self, failure: Any) -> ModelError:
        if hasattr(failure, "status_code"):
            return make_model_error(failure, self.name, self.model.server)
        text = f"{self.name} did not decide: {str(failure)[:300]}"
        is_ours = type(failure).__name__ == "UserError"
        return RejectedRequestError(text) if is_ours else ServerError(text)


def add_decisions(model: Any) -> Any:
    """Return a model of PydanticAI, wrapped if it is one of its decision models."""
    return PydanticAIDecisions(model) if model.has_decisions else model
