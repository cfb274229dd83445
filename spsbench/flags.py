"""Flags that several commands have: which model is asked, how often, and how long it may take.

@flags.model(required=True)
@flags.repeats(default=5)
@flags.seconds("Seconds that a trial may take, building included.")
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
    """`--model NAME`; `more` says whether it has to be said, or what it is by default."""
    return click.option(
        "--model",
        envvar="NJC_MODEL",
        metavar="NAME",
        help="openai/NAME, anthropic/NAME or `scripted`.",
        **more,
    )


def repeats_option(default: int) -> OptionDecorator[Any]:
    """`--repeats N`: how often each question is asked."""
    return click.option(
        "--repeats", type=POSITIVE_INT, default=default, show_default=True, help="Repeats of each."
    )


def effects_option(default: int, meaning: str) -> OptionDecorator[Any]:
    """`--effects N`: a limit, and what it limits."""
    return click.option(
        "--effects", type=POSITIVE_INT, default=default, show_default=True, help=meaning
    )


def seconds_option(meaning: str) -> OptionDecorator[Any]:
    """`--seconds S`: a limit of 1,000 s, as in the paper, and what it limits."""
    return click.option(
        "--seconds", type=POSITIVE_FLOAT, default=1000.0, show_default=True, help=meaning
    )


def temperature_option() -> OptionDecorator[Any]:
    """`--temperature T`; the vendor's own if it is not said."""
    return click.option(
        "--temperature", type=click.FloatRange(min=0), help="Temperature (default: of the vendor)."
    )
