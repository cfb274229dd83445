"""Secrets in an export: none is written.

    redact_effect(record)        the same effect, with `<redacted>` in the place of secrets
    has_secret(record)           whether a text of a repair has the shape of a secret: it is not exported

Traces are redacted when they are written, unless the program says `redact=False`; this is done in any case. The rules,
and what they do not see, are those of `njrt.rendering.redaction`. Code is not changed: a fix with another text would not
be the one that passed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from njrt.rendering.redaction import REDACTED, Redactor, classify_name, redact_shapes
from spsbench.export.records import EffectRecord, RepairRecord


def has_secret(record: RepairRecord) -> bool:
    """Return whether a text of a record has the shape of a secret."""
    texts = [value for value in asdict(record).values() if isinstance(value, str)]
    return any(redact_shapes(text) != text for text in texts)


def redact_effect(record: EffectRecord) -> EffectRecord:
    """The record without the values of variables that have the name of a secret, and without texts of such a shape."""
    redactor = Redactor()
    for variables in (record.before, record.after):
        for name, text in variables.items():
            if classify_name(name) == "secret":
                redactor.add_known(_find_value(text).strip("'\""))
    return replace(
        record,
        instruction=redactor.redact(record.instruction),
        before=_redact_variables(record.before, redactor),
        effect=_redact_json(record.effect, redactor),
        after=_redact_variables(record.after, redactor),
        result=redactor.redact(record.result),
    )


def _find_value(text: str) -> str:
    """Return the value of a variable in a trace: `str = 'hunter2'`."""
    return text.partition(" = ")[2] or text


def _redact_variables(variables: Mapping[str, str], redactor: Redactor) -> dict[str, str]:
    return {
        name: redactor.redact(
            text.replace(_find_value(text), REDACTED) if classify_name(name) == "secret" else text
        )
        for name, text in variables.items()
    }


def _redact_json(value: Any, redactor: Redactor) -> Any:
    match value:
        case str():
            return redactor.redact(value)
        case list():
            return [_redact_json(item, redactor) for item in value]
        case dict():
            return {key: _redact_json(item, redactor) for key, item in value.items()}
        case _:
            return value
