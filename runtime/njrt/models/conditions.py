"""Conditions of retries and fallbacks: whether a call is to be made again.

    RetryModel(model, when=is_failure)
    RetryModel(model, when=lambda request, result: "as an AI" in getattr(result, "message", result).text)

A condition is called with the request and its result, a `Reply` or a `ModelError`. What a reply does to the program is
not known here: that an output has the wrong type, or a call of code raises, is seen by the conversation, which tells
the model in the next turn (see `FallbackModel.turns`).
"""

from __future__ import annotations

from collections.abc import Callable

from njrt.errors import ModelError, ServerError
from njrt.messages import Json, Reply, Request
from njrt.models.response import MalformedReplyError, parse_json

Condition = Callable[[Request, Reply | ModelError], bool]
"""Whether the result of a request is to be replaced by that of another call."""


def is_server_failure(request: Request, result: Reply | ModelError) -> bool:
    """Return whether the server could not be reached, was overloaded, too slow, or sent no reply."""
    return isinstance(result, ServerError)


def is_unusable_reply(request: Request, result: Reply | ModelError) -> bool:
    """Whether a reply was refused or cut off, is empty, calls no tool that there is, or does not fit its schema."""
    if isinstance(result, ModelError):
        return False
    message = result.message
    if result.stop != "end" or not (message.calls or message.text.strip()):
        return True
    if request.schema is not None:
        return not fits_schema(
            message.calls[0].raw if message.calls else message.text, request.schema
        )
    if request.tools:
        names = {tool.name for tool in request.tools}
        known = all(call.name in names and call.arguments is not None for call in message.calls)
        return not (message.calls and known)
    return False


def is_failure(request: Request, result: Reply | ModelError) -> bool:
    """Return whether the server failed or its reply cannot be used."""
    return is_server_failure(request, result) or is_unusable_reply(request, result)


def fits_schema(text: str, schema: Json) -> bool:
    """Return whether a text is JSON that fits a schema; without the package jsonschema, whether it is a JSON object."""
    try:
        value = parse_json(extract_json(text))
    except MalformedReplyError:
        return False
    try:
        from jsonschema.validators import validator_for
    except ImportError:
        return isinstance(value, dict)
    return bool(validator_for(schema)(schema).is_valid(value))


def extract_json(text: str) -> str:
    """Return the JSON in a reply: its text, or the contents of its fenced block."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```"):
        text = text.partition("\n")[2].removesuffix("```")
    return text
