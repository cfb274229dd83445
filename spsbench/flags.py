"""Flags that several commands share: the model, the repeats, the limits.

@flags.model_option(required=True)
@flags.repeats_option(default=5)
@flags.seconds_option("Time limit of a trial.")
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])
OptionDecorator = Callable[[Command], Command]

POSITIVE_INT = click.IntRange(min=1)
POSITIVE_FLOAT = click.FloatRange(min=0, min_open=True)


def model_option(**more: Any) -> OptionDecorator[Any]:
    """`--model NAME`; `more` has `required` or `default`."""
    return click.option(
        "--model",
        envvar="NJC_MODEL",
        metavar="NAME",
        help="openai/NAME, anthropic/NAME or `scripted`.",
        **more,
    )


def repeats_option(default: int) -> OptionDecorator[Any]:
    """`--repeats N`."""
    return click.option(
        "--repeats", type=POSITIVE_INT, default=default, show_default=True, help="Repeats of each."
    )


def effects_option(default: int, meaning: str) -> OptionDecorator[Any]:
    """`--effects N`, with its help."""
    return click.option(
        "--effects", type=POSITIVE_INT, default=default, show_default=True, help=meaning
    )


def seconds_option(meaning: str) -> OptionDecorator[Any]:
    """`--seconds S`, with its help; 1,000 s by default, as in the paper."""
    return click.option(
        "--seconds", type=POSITIVE_FLOAT, default=1000.0, show_default=True, help=meaning
    )


def reply_seconds_option(default: float) -> OptionDecorator[Any]:
    """`--seconds S` of one reply."""
    return click.option(
        "--seconds",
        type=POSITIVE_FLOAT,
        default=default,
        show_default=True,
        help="Limit of wall time for one reply.",
    )


def temperature_option() -> OptionDecorator[Any]:
    """`--temperature T`; by default the vendor's."""
    return click.option(
        "--temperature", type=click.FloatRange(min=0), help="Temperature (default: of the vendor)."
    )
