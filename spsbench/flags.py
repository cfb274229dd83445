"""Options that several commands share, and options with a default value that is shown in the help.

@flags.model_option(required=True)
@flags.value("--max-steps", 40, "Replies on one path.")
@flags.out_option("repairs.jsonl", "repairs")
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import Any

import click

from njrt.data.similar import find_similar

Decorator = Callable[[Any], Any]

FILE = click.Path(path_type=Path, dir_okay=False)
EXISTING_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
TEXT = click.File(encoding="utf-8", errors="replace")
FOLDER = click.Path(path_type=Path, file_okay=False)
EXISTING_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
POSITIVE_INT = click.IntRange(min=1)


class FiniteRange(click.FloatRange):
    """A number within limits that is neither infinite nor `nan`."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        number: float = super().convert(value, param, ctx)
        return number if isfinite(number) else self.fail(f"{value} is not a finite number")


POSITIVE_FLOAT = FiniteRange(min=0, min_open=True)
TEMPERATURE = FiniteRange(min=0)


def value(
    name: str, default: Any, meaning: str, kind: Any = POSITIVE_INT, **more: Any
) -> Decorator:
    """Return an option with a default value; a positive number unless `kind` differs."""
    return click.option(name, type=kind, default=default, show_default=True, help=meaning, **more)


def names(name: str, default: str, meaning: str, *, show_default: bool = True) -> Decorator:
    """Return an option that lists names."""
    return click.option(
        name, default=default, show_default=show_default, metavar="LIST", help=meaning
    )


def model_option(**more: Any) -> Decorator:
    """`--model NAME`; `more` contains `required` or `default`."""
    meaning = "openai/NAME, anthropic/NAME or `scripted`."
    return click.option("--model", envvar="NJC_MODEL", metavar="NAME", help=meaning, **more)


def seconds_option(meaning: str, default: float = 1000.0) -> Decorator:
    """`--seconds S`, with its help; 1,000 s by default, as in the paper."""
    return value("--seconds", default, meaning, POSITIVE_FLOAT)


def temperature_option(default: float | None = None) -> Decorator:
    """`--temperature T`; by default the vendor's."""
    meaning = "Temperature (default: of the vendor)." if default is None else "Temperature."
    return value("--temperature", default, meaning, TEMPERATURE)


def file_option(name: str, meaning: str, **more: Any) -> Decorator:
    """Return an option that names a file to read, or several with `multiple`."""
    return click.option(name, type=EXISTING_FILE, help=meaning, **more)


def out_option(default: str | None, noun: str) -> Decorator:
    """`--out FILE`, which lets the same command continue."""
    path = None if default is None else Path(default)
    return value("--out", path, f"Results file; its {noun} are skipped.", FILE)


def require_model(model: str | None) -> None:
    """Raise a `UsageError` if no model is given."""
    if model is None:
        raise click.UsageError("--model names a model, such as openai/NAME, or `scripted`")


def list_names(text: str, known: tuple[str, ...], kind: str) -> tuple[str, ...]:
    """Return the known names in an option's list, in their order, or raise a `UsageError`."""
    listed = [name for part in text.split(",") if (name := part.strip())]
    if listed == ["all"]:
        return known
    for name in listed:
        if name not in known:
            close = find_similar(name, known)
            hint = f"did you mean `{close}`?" if close else f"they are {', '.join(known)}"
            raise click.UsageError(f"there is no {kind} `{name}`; {hint}")
    return tuple(name for name in known if name in listed)
