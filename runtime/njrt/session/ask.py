"""Asking a model from ordinary code: one question, one value that fits what was asked for.

    njrt.llm(f"Translate into French: {text}")                         str
    njrt.llm(f"Is this mail spam? {mail.body}", bool)                  True or False
    njrt.llm(f"Whose job is this? {ticket}", Literal["billing", "it"])
    await njrt.allm(f"Read this order: {letter}", Order)               a dataclass, pydantic model, list, ...

Static code calls it where a judgement is needed. The answer is checked, and asked for once more if it does not
fit. Settings, recordings, the cache, limits, accounts and traces are those of natural blocks; in compiled files
`llm_at("mail.njpy:12", model=...)` gives the function its place and options.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from njrt.outcome import UserValue
from njrt.session.drive import aget_answer, get_answer, hidden_frames
from njrt.session.question import AnswerType, ask_model
from njrt.session.run_setup import set_up_run
from njrt.session.session import Session, with_lifecycle_events

Asker = Callable[..., UserValue]
AsyncAsker = Callable[..., Awaitable[UserValue]]


def llm(prompt: str, schema: AnswerType = None) -> UserValue:
    """Ask the model `prompt`; give text, or a value that fits `schema`.

    `schema` is a type that JSON carries (`bool`, an Enum, a dataclass, `dict[str, int]`, ...), as for the outputs of
    blocks that answer, or a JSON schema. Raises `ReplyError` if the second answer does not fit either.
    """
    return llm_at("")(prompt, schema)


def allm(prompt: str, schema: AnswerType = None) -> Awaitable[UserValue]:
    """Do what `llm` does, in an `async` function, without blocking the event loop."""
    return allm_at("")(prompt, schema)


def llm_at(place: str, *, project: Mapping[str, Any] | None = None, **options: Any) -> Asker:
    """Return the `llm` of one place in a program, with the options of its block, file and project."""

    def llm(prompt: str, schema: AnswerType = None) -> UserValue:
        with hidden_frames:
            return get_answer(_start_question(prompt, schema, place, project, options, False))

    return llm


def allm_at(place: str, *, project: Mapping[str, Any] | None = None, **options: Any) -> AsyncAsker:
    """Return the `allm` of one place in a program."""

    async def allm(prompt: str, schema: AnswerType = None) -> UserValue:
        with hidden_frames:
            session = _start_question(prompt, schema, place, project, options, True)
            return await aget_answer(session)

    return allm


def _start_question(
    prompt: str,
    wanted: AnswerType,
    place: str,
    project: Mapping[str, Any] | None,
    options: Mapping[str, Any],
    is_async: bool,
) -> Session:
    """Prepare one question, with the layers that surround every natural block."""
    setup = set_up_run(place, options, project)
    conversation = ask_model(prompt, wanted, setup, is_async)
    return Session(
        with_lifecycle_events(conversation, setup, "llm"),
        setup.model,
        setup.meter.seconds_left,
        setup.interceptors,
        setup.record,
    )
