"""Effects as text that can be edited, and back.

format_effect({"kind": "Run", "code": "x = 1", "done": True})         "x = 1"
read_effect_text({"kind": "Run", ...}, "x = 2")                       {"kind": "Run", "code": "x = 2", "done": True}
format_effect({"kind": "BindOutputs", "values": {"team": "a"}})       'team = "a"'
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from njc.timeline.controller import RunControlError
from njrt.effect_json import effect_from_json
from njrt.typed_json import InvalidJsonError


def read_effect_text(effect: Mapping[str, Any], text: str) -> dict[str, Any]:
    """An effect of the same kind that does what the text says, which is of the form that `format_effect` writes.

    Raises:
        RunControlError: the text does not have that form.
    """
    changed = dict(effect) | _read_fields(effect, text)
    if unknown := changed.keys() - effect.keys():
        raise RunControlError(f"not an effect: there is no field `{min(unknown)}`")
    try:
        effect_from_json(changed)
    except InvalidJsonError as error:
        raise RunControlError(f"not an effect: {error}") from None
    return changed


def _read_fields(effect: Mapping[str, Any], text: str) -> dict[str, Any]:
    for name in ("code", "expression"):
        if name in effect:
            return {name: text}
    match effect.get("kind"):
        case "BindOutputs":
            return {"values": dict(_read_lines(text, "="))}
        case "Assign":
            (name, value), *_ = [*_read_lines(text, "="), ("", None)]
            return {"variable": name, "value": value}
        case _:
            return dict(_read_lines(text, ":"))


def _read_lines(text: str, separator: str) -> Iterator[tuple[str, Any]]:
    for line in text.splitlines():
        if not line.strip():
            continue
        name, found, value = line.partition(separator)
        try:
            if not found:
                raise ValueError
            yield name.strip(), json.loads(value)
        except ValueError:
            form = f"NAME {separator} JSON" if separator == "=" else "NAME: JSON"
            raise RunControlError(f"`{line.strip()}` does not have the form {form}") from None
