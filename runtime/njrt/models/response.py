"""Read the JSON of a server's response, which may hold anything.

    parse_json(b'{"choices": [')                    MalformedReplyError: it is not JSON
    read_field({"choices": 1}, "choices", list)     MalformedReplyError: choices: it is missing...

Lone surrogates are escaped; infinite numbers, NaN and values nested too deep are errors.
"""

from __future__ import annotations

import json
import math
from typing import Any

from njrt.messages import CallAttempt

MAX_DEPTH = 100
"""Maximal nesting of lists and objects; models' replies have fewer than ten levels."""

MAX_TOKENS = 10**9
"""The largest number that is accepted as a token count."""


class MalformedReplyError(ValueError):
    """A response does not have the format of its API; the message names the mistake.

    `attempts` has the call if the response says what it has used.
    """

    attempts: tuple[CallAttempt, ...] = ()


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text; strings may have control characters."""
    try:
        value = json.loads(
            text, strict=False, parse_float=_parse_float, parse_constant=_parse_float
        )
    except (ValueError, RecursionError):
        raise MalformedReplyError("it is not JSON") from None
    return escape_surrogates(value, MAX_DEPTH)


def read_field(value: Any, name: str, *types: type) -> Any:
    """Return a field of a JSON object, which has one of the types; None if it has none."""
    found = value.get(name) if isinstance(value, dict) else value
    if not isinstance(value, dict) or (found is not None and type(found) not in types):
        raise MalformedReplyError(f"{name}: it is missing, or not what the API says")
    return found


def read_token_count(usage: Any, *names: str) -> int:
    """Return the number of tokens at a path of names; 0 if there is none."""
    for name in names:
        if usage is None:
            return 0
        if not isinstance(usage, dict):
            raise MalformedReplyError("usage: it is not an object")
        usage = usage.get(name)
    if usage is not None and (type(usage) is not int or not 0 <= usage <= MAX_TOKENS):
        raise MalformedReplyError("usage: a number of tokens is none, or is out of range")
    return usage or 0


def escape_surrogates(value: Any, max_depth: float = math.inf) -> Any:
    r"""Return the JSON value with lone surrogates, which UTF-8 lacks, as text such as `\ud800`.

    Raises MalformedReplyError if lists and objects are nested deeper than `max_depth` levels.
    """
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if not isinstance(value, list | dict):
        return value
    if max_depth <= 0:
        raise MalformedReplyError(f"it is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, list):
        return [escape_surrogates(item, max_depth - 1) for item in value]
    return {
        escape_surrogates(key): escape_surrogates(item, max_depth - 1)
        for key, item in value.items()
    }


def _parse_float(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is not a number of JSON, or is too large")
    return number
