"""Dataclasses as JSON, checked by pydantic when they are read: the type is the format.

    to_json(TrialUsage(10, 0, 2))               '{"input": 10, "cached": 0, "output": 2}'
    from_json('{"input": "ten"}', TrialUsage)   InvalidJsonError: input: Input should be a valid ...

pydantic is imported when it is first needed.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from njrt.data.message_json import format_json_line
from njrt.values.adapters import format_validation_errors, get_adapter

NO_OTHER_KEYS = {"extra": "forbid"}
"""As a dataclass's `__pydantic_config__`, it refuses unknown keys; otherwise they are ignored."""


class InvalidJsonError(ValueError):
    """A text is not JSON, or not of the expected type; the message names the field."""


def to_json(value: Any) -> str:
    """Return a dataclass as one line of JSON, without the newline."""
    return format_json_line(dataclasses.asdict(value))


def from_json(text: str, expected: Any) -> Any:
    """Read a value of the type `expected`, or raise `InvalidJsonError`."""
    from pydantic import ValidationError

    try:
        return get_adapter(expected).validate_json(text, strict=True)
    except ValidationError as error:
        raise InvalidJsonError(describe_validation_error(error)) from None


def validate_value(value: Any, expected: Any) -> Any:
    """Build `expected` from parsed JSON, or raise `InvalidJsonError`; accept numbers as text."""
    from pydantic import ValidationError

    try:
        return get_adapter(expected).validate_python(value)
    except ValidationError as error:
        raise InvalidJsonError(describe_validation_error(error)) from None


def describe_validation_error(error: Any) -> str:
    """Describe the first problem that pydantic found, with its field."""
    first = error.errors(include_url=False)[0]
    if first["type"] == "json_invalid":
        is_half = "hex escape" in first["ctx"]["error"]
        return "not JSON" + r": an escape such as `\ud83d` needs its other half" * is_half
    return format_validation_errors(error, most=1)


def make_json_value(value: Any) -> Any:
    """Return pydantic's JSON form of a value; infinite numbers and NaN become text."""
    from pydantic_core import to_jsonable_python

    return _spell_infinite(to_jsonable_python(value))


def _spell_infinite(value: Any) -> Any:
    """Write infinite numbers and NaN as text, at any depth."""
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case list():
            return [_spell_infinite(item) for item in value]
        case dict():
            return {key: _spell_infinite(item) for key, item in value.items()}
        case _:
            return value
