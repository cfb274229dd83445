"""Values as they are after they were stored as JSON.

    (1, date(2026, 3, 1))     [1, "2026-03-01"]

A program gets them in this form in its first run too, so that it does the same after a crash.
"""

from __future__ import annotations

import json
from typing import Any

from njrt.errors import ConfigurationError


def normalize(value: Any, what: str) -> Any:
    """Return the value as it will be read back; `ConfigurationError` if it cannot be stored."""
    from dbos import DBOSPortableJSONSerializer

    try:
        return json.loads(DBOSPortableJSONSerializer().serialize(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{what} cannot be stored as JSON: {error}") from error


def normalize_result(value: Any, what: str) -> Any:
    """Return the same for what DBOS stores itself, as UTF-8: no lone surrogates."""
    normalized = normalize(value, what)
    try:
        json.dumps(normalized, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ConfigurationError(f"{what} cannot be stored as UTF-8: {error}") from error
    return normalized


def normalize_argument(value: Any, what: str) -> Any:
    """The same for an argument of a workflow; DBOS reads dates back where the function's annotation says `date` or `datetime`."""
    return value if hasattr(value, "isoformat") else normalize_result(value, what)
