"""Endpoints for questions: OpenAI's `/v1/decisions`, and PydanticAI's decision models.

    openai/gpt-6-luna            ask_openai(client, "gpt-6-luna", ...)
    other models                 read_likeliest({"logprobs": ...})          first tokens in a chat
    pydantic-ai:system-one:...   ask_pydantic_ai(SystemOneModel(), ...)     questions only

Questions are choices among texts; OpenAI has predicates for those about True or False. The block
asks for JSON if there are files, which are not sent, or if a question is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from njrt.errors import RejectedRequestError
from njrt.messages import ModelMessage, Question, Reply, Request, Usage, UserMessage
from njrt.models.remote import list_files
from njrt.models.response import MalformedReplyError
from njrt.values.questions import ESCAPE, LETTERS, check_probabilities, choose_answer


def write_state(request: Request) -> str:
    """Return what the question is about; raise RejectedRequestError if files belong to it."""
    if list_files(request):
        raise RejectedRequestError("an endpoint for questions takes no files")
    texts = (it.text for it in request.messages if isinstance(it, UserMessage | ModelMessage))
    return "\n".join([request.system, *texts])


def make_reply(
    question: Question, found: Mapping[Any, float] | None, usage: Usage, model: str
) -> Reply:
    """Return a reply with the probabilities of the answers, or without any."""
    values = [found.get(answer, math.nan) for answer in question.answers] if found else ()
    probabilities = check_probabilities(values, question)
    text = LETTERS[choose_answer(probabilities)] if probabilities else ""
    return Reply(ModelMessage(text), "end", usage, model, probabilities=probabilities)


async def ask_openai(client: Any, model: str, request: Request, question: Question) -> Reply:
    """Return the reply of a model of OpenAI to a question, without its price.

    Raises MalformedReplyError for an unreadable response, and the exceptions of the SDK.
    """
    from openai.types.decision import Decision

    choices = [{"value": answer} for answer in question.answers]
    asked: Any = {"type": "choice", "instructions": question.text, "choices": choices}
    if {*question.answers} <= {"True", "False", ESCAPE}:
        asked = {"type": "predicate", "instructions": f"`{question.name}` is True"}
    questions, state = [asked | {"name": "answer"}], write_state(request)
    response = await client.decisions.with_raw_response.create(
        model=model, input=state, questions=questions, timeout=request.timeout
    )
    try:
        decision = Decision.model_validate_json(response.content)
    except ValueError:
        raise MalformedReplyError("it is no decision") from None
    found: Any = None
    match [answer.to_dict() for answer in decision.answers]:
        case [{"type": "predicate", "probability": truth}]:
            found = {"True": truth, "False": 1.0 - truth} | dict.fromkeys(question.answers[2:], 0.0)
        case [{"type": "choice", "probabilities": list(listed)}]:
            found = {each["value"]: each["probability"] for each in listed}
    usage = Usage(decision.usage.input_tokens, decision.usage.output_tokens)
    return make_reply(question, found, usage, decision.model)


def read_likeliest(choice: Any) -> list[tuple[str, float]]:
    """Return the likeliest first tokens of a choice, with the logarithms of their probabilities."""
    found = []
    match choice:
        case {"logprobs": {"content": [{"top_logprobs": list(likeliest)}, *_]}}:
            for each in likeliest:
                match each:
                    case {"token": str(token), "logprob": float() | int() as it} if abs(it) < 1e6:
                        found.append((token, float(it)))
    return found


async def ask_pydantic_ai(model: Any, name: str, request: Request) -> Reply:
    """Return the reply of a decision model of PydanticAI to a question.

    Raises RejectedRequestError if the request has none, and the exceptions of PydanticAI.
    """
    from pydantic_ai.models import decision

    if (question := request.question) is None:
        raise RejectedRequestError(
            f"{name} only answers questions with a few answers: set `decide = true` for "
            "blocks that `njc show` calls decisions, and ask another model in the others"
        )
    asked = decision.ChoiceQuestion(
        instructions=question.text, criteria=dict.fromkeys(question.answers)
    )
    response = await model.decide(
        decision.DecisionRequest(state=write_state(request), questions={"answer": asked}),
        decision.DecisionModelSettings(timeout=request.timeout),
    )
    answer = response.answers.get("answer")
    found = answer.probabilities if isinstance(answer, decision.ChoiceAnswer) else None
    usage = Usage(response.usage.input_tokens, response.usage.output_tokens)
    return make_reply(question, found, usage, response.model_name)
