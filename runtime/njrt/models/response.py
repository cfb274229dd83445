"""Read the JSON of a server's response, which may hold anything.

    parse_json(b'{"choices": [')                    MalformedReplyError: it is not JSON
    validate_reply({"choices": 1}, Completion)      MalformedReplyError: choices: Input should...

Lone surrogates are escaped; infinite numbers, NaN and values nested too deep are errors.
"""

from __future__ import annotations

import json
import math
from typing import Any, TypeVar

from njrt.messages import read_float

T = TypeVar("T")

MAX_DEPTH = 100
"""Maximal nesting of lists and objects; models' replies have fewer than ten levels."""

MAX_TOKENS = 10**9
"""The largest number that is accepted as a token count."""


class MalformedReplyError(ValueError):
    """A response does not have the format of its API; the message names the mistake."""


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text; strings may have control characters."""
    try:
        value = json.loads(
            text, strict=False, parse_float=_parse_float, parse_constant=_parse_float
        )
    except (ValueError, RecursionError):
        raise MalformedReplyError("it is not JSON") from None
    if measure_depth(value) > MAX_DEPTH:
        raise MalformedReplyError(f"it is nested deeper than {MAX_DEPTH} levels")
    return escape_surrogates(value)


def validate_reply(value: Any, expected: type[T]) -> T:
    """Return the dataclass `expected` from JSON; raise MalformedReplyError with the wrong field."""
    from njrt.dataclass_json import InvalidJsonError, validate_value

    try:
        reply: T = validate_value(value, expected)
    except InvalidJsonError as error:
        raise MalformedReplyError(str(error)) from None
    return reply


def check_token_counts(*counts: int) -> None:
    """Raise MalformedReplyError if one of these cannot be a token count."""
    if not all(0 <= count <= MAX_TOKENS for count in counts):
        raise MalformedReplyError("usage: a number of tokens is out of range")


def escape_surrogates(value: Any) -> Any:
    r"""Return the JSON value with lone surrogates, which UTF-8 lacks, as text such as `\ud800`."""
    match value:
        case str():
            return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
        case list():
            return [escape_surrogates(item) for item in value]
        case dict():
            return {escape_surrogates(key): escape_surrogates(item) for key, item in value.items()}
        case _:
            return value


def measure_depth(value: Any) -> int:
    """Return the nesting depth of lists and dicts in a JSON value, without recursion."""
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, list | dict)]:
        depth += 1
        level = [
            inner for item in level for inner in (item.values() if isinstance(item, dict) else item)
        ]
    return depth


def _parse_float(text: str) -> float:
    if not math.isfinite(number := read_float(text)):
        raise ValueError(f"{text} is not a number of JSON, or is too large")
    return number
