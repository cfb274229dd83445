"""The isolated model call of the manual programs: text goes out, and text or data comes back.

    llm("Who wrote Emma?")                                   'Jane Austen'
    llm("How many legs have two cats?", {"type": "integer"})  8
    llm("Make up a person.", Person)                          Person(name='Ada', age=36)

    with answered_by(model):              # a njrt model: a vendor's, a recorded or a scripted one
        program.main()

A schema is a JSON schema or a pydantic model. It travels as the parameter of a tool `answer`, or, to models
that take plain text only, as a part of the prompt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar, overload

from njrt.errors import NoModelError, ReplyError
from njrt.messages import Json, Request, Tool, UserMessage
from njrt.models.model import Model

if TYPE_CHECKING:
    from pydantic import BaseModel

    Data = TypeVar("Data", bound=BaseModel)

SYSTEM = "Answer the request exactly and briefly."
WITH_TOOL = f"{SYSTEM} Give your answer by calling the tool `answer` once."
WITH_SCHEMA = f"{SYSTEM} Reply with one JSON object of this schema and nothing else:\n"

FENCE = re.compile(r"```(?:json)?(.*?)```", re.DOTALL)

LOOSE = ("default", "discriminator")
UNION = {"oneOf": "anyOf"}

_model: ContextVar[Model] = ContextVar("model")


@contextmanager
def answered_by(model: Model) -> Iterator[None]:
    """Let `model` answer every `llm` call inside the `with`."""
    token = _model.set(model)
    try:
        yield
    finally:
        _model.reset(token)


@overload
def llm(prompt: str) -> str: ...
@overload
def llm(prompt: str, schema: type[Data]) -> Data: ...
@overload
def llm(prompt: str, schema: Json) -> Any: ...


def llm(prompt: str, schema: type[BaseModel] | Json | None = None) -> Any:
    """Ask the model: its text, or, with a schema, the value that it answers with.

    Raises `njrt.errors.ReplyError` where no JSON comes back, and pydantic's `ValidationError` where it does
    not fit the model.
    """
    model = _model.get(None)
    if model is None:
        raise NoModelError("nobody answers `llm`: call it within `answered_by(model)`")
    if schema is None:
        return model.ask(Request(SYSTEM, (UserMessage(prompt),))).message.text
    if isinstance(schema, Mapping):
        return _answer(model, prompt, strict(schema))
    return schema.model_validate(_answer(model, prompt, strict(schema.model_json_schema())))


def _answer(model: Model, prompt: str, schema: Json) -> Any:
    """The model's answer as a JSON value; whether it fits is for the caller to see."""
    messages, parameters = (UserMessage(prompt),), _parameters(schema)
    if model.protocol == "text":
        request = Request(WITH_SCHEMA + json.dumps(parameters, sort_keys=True), messages)
    else:
        tool = Tool("answer", "Give the answer to the request.", parameters)
        request = Request(WITH_TOOL, messages, (tool,))
    message = model.ask(request).message
    for call in message.calls:
        if call.arguments is not None and "answer" in call.arguments:
            return call.arguments["answer"]
    return _answer_in(message.text)


def _parameters(schema: Json) -> Json:
    """An object whose only property is the answer; definitions move up to where `$ref` looks for them."""
    definitions = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    return definitions | {
        "type": "object",
        "properties": {"answer": {key: schema[key] for key in schema if key != "$defs"}},
        "required": ["answer"],
        "additionalProperties": False,
    }


def strict(schema: Any) -> Any:
    """A schema as strict mode wants it: every property required, no others allowed, no defaults.

    `oneOf` becomes `anyOf`, which is all that strict mode knows of unions.
    """
    match schema:
        case {"type": "object", "properties": Mapping() as properties}:
            rest = {key: value for key, value in schema.items() if key != "properties"}
            named = {name: strict(value) for name, value in properties.items()}
            return strict(rest) | {
                "properties": named,
                "required": list(properties),
                "additionalProperties": False,
            }
        case Mapping():
            kept = {key: value for key, value in schema.items() if key not in LOOSE}
            return {UNION.get(key, key): strict(value) for key, value in kept.items()}
        case list():
            return [strict(value) for value in schema]
        case _:
            return schema


def _answer_in(text: str) -> Any:
    """The answer in a reply of plain text: JSON, with or without a fence or the object around it."""
    fenced = FENCE.search(text)
    for said in (text, fenced.group(1)) if fenced else (text,):
        with suppress(ValueError):
            return _bare(json.loads(said))
    raise ReplyError(f"the reply to `llm` is not JSON: {text[:200]!r}")


def _bare(said: Any) -> Any:
    """A value without the object whose only property is the answer."""
    return said["answer"] if isinstance(said, dict) and set(said) == {"answer"} else said
