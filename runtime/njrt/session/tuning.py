"""The form that `njc tune` chose for a block and a model, from the arguments of the compiled call.

    tuned={"openai/local": {"reasoning": "text", "votes": 3}},
    examples=[("openai/local", "review: str = 'Great!'", '{"mood": "good"}')],

    choose_tuning(tuned, examples, "openai/local")     Tuning({"reasoning": "text", "votes": 3}, ((..., ...),))

A model without an entry is asked as if nothing was tuned. If no model is configured, as in a test on recordings, the first
entry counts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from njrt.models.choose import choose_model, list_model_names
from njrt.options import Options
from njrt.session.block_options import resolve_options
from njrt.session.layered_model import find_recorder
from njrt.session.settings import get_settings

NOT_TUNED: Mapping[str, Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Tuning:
    """The options and examples for one model."""

    options: Mapping[str, Any] = field(default_factory=dict)
    examples: tuple[tuple[str, str], ...] = ()

    def fits(self, options: Options) -> bool:
        """Return whether the tuned options are in force: examples are only shown in the form that they were made in."""
        return all(getattr(options, name) == value for name, value in self.options.items())


NO_TUNING = Tuning()


def choose_tuning(
    tuned: Mapping[str, Mapping[str, Any]],
    examples: Sequence[tuple[str, str, str]],
    model: str | None,
) -> Tuning:
    """Return the tuning of a model; the first one if no model is known."""
    name = next(iter(tuned), None) if model is None else model
    if name is None or name not in tuned:
        return NO_TUNING
    shown = tuple((values, reply) for of, values, reply in examples if of == name)
    return Tuning(tuned[name], shown)


def find_model_name(
    place: str, options: Mapping[str, Any], project: Mapping[str, Any] | None
) -> str | None:
    """Return the name of the model that a block asks, before it is tuned; None if none is configured."""
    settings = get_settings()
    if settings.model is not None:
        return settings.model.name
    merged = resolve_options(options, project, settings.options, place)
    if names := list_model_names(merged, os.environ):
        return ",".join(name if "/" in name or ":" in name else f"openai/{name}" for name in names)
    return None if find_recorder(settings, os.environ) else choose_model(merged, os.environ).name
