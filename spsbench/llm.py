"""The isolated model call used by the manual programs: text in, text or data out.

    with use_model(model):              # a njrt model: a vendor's, a recorded or a scripted one
        llm("How many legs have two cats?", {"type": "integer"})  8
        llm("Make up a person.", Person)                          Person(name='Ada', age=36)

A schema is a JSON schema or a pydantic model. It is sent as the parameters of a tool `answer` or,
for plain-text models, as part of the prompt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar, overload

from njrt.errors import NoModelError, ReplyError
from njrt.messages import Json, Request, Tool, UserMessage, make_object_schema
from njrt.models.model import Model

if TYPE_CHECKING:
    from pydantic import BaseModel

    SchemaModel = TypeVar("SchemaModel", bound=BaseModel)

LLM_SYSTEM_PROMPT = "Answer the request exactly and briefly."
LLM_TOOL_PROMPT = f"{LLM_SYSTEM_PROMPT} Give your answer by calling the tool `answer` once."
LLM_SCHEMA_PROMPT = (
    f"{LLM_SYSTEM_PROMPT} Reply with one JSON object of this schema and nothing else:\n"
)

JSON_FENCE = re.compile(r"```(?:json)?(.*?)```", re.DOTALL)

NON_STRICT_KEYWORDS = ("default", "discriminator")
KEYWORD_RENAMES = {"oneOf": "anyOf"}

_model: ContextVar[Model] = ContextVar("model")


@contextmanager
def use_model(model: Model) -> Iterator[None]:
    """Use `model` for every `llm` call inside the `with`."""
    token = _model.set(model)
    try:
        yield
    finally:
        _model.reset(token)


@overload
def llm(prompt: str) -> str: ...
@overload
def llm(prompt: str, schema: type[SchemaModel]) -> SchemaModel: ...
@overload
def llm(prompt: str, schema: Json) -> Any: ...


def llm(prompt: str, schema: type[BaseModel] | Json | None = None) -> Any:
    """Ask the model, and return its text or, with a schema, its value.

    Raises `njrt.errors.ReplyError` if the reply is not JSON, and pydantic's `ValidationError` if it
    does not match the pydantic model.
    """
    model = _model.get(None)
    if model is None:
        raise NoModelError("`llm` has no model: call it inside `with use_model(model)`")
    if schema is None:
        return model.ask(Request(LLM_SYSTEM_PROMPT, (UserMessage(prompt),))).message.text
    if isinstance(schema, Mapping):
        return _ask_with_schema(model, prompt, make_strict_schema(schema))
    strict = make_strict_schema(schema.model_json_schema())
    return schema.model_validate(_ask_with_schema(model, prompt, strict))


def _ask_with_schema(model: Model, prompt: str, schema: Json) -> Any:
    """Return the model's answer as a JSON value that is not checked against the schema."""
    # Definitions move to the root, where `$ref` expects them.
    parameters = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    inner = {key: schema[key] for key in schema if key != "$defs"}
    parameters |= make_object_schema({"answer": inner})
    messages = (UserMessage(prompt),)
    if model.protocol == "text":
        request = Request(LLM_SCHEMA_PROMPT + json.dumps(parameters, sort_keys=True), messages)
    else:
        tool = Tool("answer", "Give the answer to the request.", parameters)
        request = Request(LLM_TOOL_PROMPT, messages, (tool,))
    message = model.ask(request).message
    for call in message.calls:
        if call.arguments is not None and "answer" in call.arguments:
            return call.arguments["answer"]
    return _parse_answer(message.text)


def make_strict_schema(schema: Any) -> Any:
    """Return a schema for strict mode.

    All properties are required, no others allowed; no defaults; `anyOf` for `oneOf`.
    """
    match schema:
        case {"type": "object", "properties": Mapping() as properties}:
            rest = {key: value for key, value in schema.items() if key != "properties"}
            named = {name: make_strict_schema(value) for name, value in properties.items()}
            return make_strict_schema(rest) | make_object_schema(named)
        case Mapping():
            return {
                KEYWORD_RENAMES.get(key, key): make_strict_schema(value)
                for key, value in schema.items()
                if key not in NON_STRICT_KEYWORDS
            }
        case list():
            return [make_strict_schema(value) for value in schema]
        case _:
            return schema


def _parse_answer(text: str) -> Any:
    """Return the JSON answer in plain text, with or without a fence or an enclosing object."""
    fenced = JSON_FENCE.search(text)
    for candidate in (text, fenced.group(1)) if fenced else (text,):
        with suppress(ValueError):
            value = json.loads(candidate)
            is_wrapped = isinstance(value, dict) and set(value) == {"answer"}
            return value["answer"] if is_wrapped else value
    raise ReplyError(f"the reply to `llm` is not JSON: {text[:200]!r}")
