"""Shared by several commands: the flags of the model, the repeats, the limits and the results.

@flags.model_option(required=True)
@flags.out_option("repairs.jsonl", "repairs")
@flags.jobs_option("Parallel repairs (default: 1).")
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])
OptionDecorator = Callable[[Command], Command]

FILE = click.Path(path_type=Path, dir_okay=False)
EXISTING_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
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


def jobs_option(meaning: str) -> OptionDecorator[Any]:
    """`--jobs N`, with its help."""
    return click.option("--jobs", type=POSITIVE_INT, metavar="N", help=meaning)


def sample_option(meaning: str) -> OptionDecorator[Any]:
    """`--sample N`, with its help."""
    return click.option("--sample", type=POSITIVE_INT, metavar="N", help=meaning)


def seed_option(default: int, meaning: str) -> OptionDecorator[Any]:
    """`--seed N`, with its help."""
    return click.option("--seed", type=int, default=default, show_default=True, help=meaning)


def out_option(default: str, noun: str) -> OptionDecorator[Any]:
    """`--out FILE`, by which the same command continues."""
    return click.option(
        "--out",
        type=FILE,
        default=Path(default),
        show_default=True,
        help=f"Results file; its {noun} are skipped.",
    )


def scheduler_option(meaning: str = "Run on this Dask cluster.") -> OptionDecorator[Any]:
    """`--scheduler ADDRESS`."""
    return click.option("--scheduler", metavar="tcp://HOST:PORT", help=meaning)


def note_option(meaning: str = "What to record of the model's server.") -> OptionDecorator[Any]:
    """`--note TEXT`."""
    return click.option("--note", default="", metavar="TEXT", help=meaning)
