"""`njc doctor`: what is in the way of running natural code here."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import click

from njc.commands.console import Console
from njc.commands.flags import options_from, pass_console, project_flags, speaking
from njc.doctor import Knock, Surroundings, Verdict, diagnose
from njc.project.config import find_project
from njc.project.units import shown
from njc.sandbox.bubblewrap import obstacle_here

_COLORS = {"ok": "green", "warn": "yellow", "fail": "red"}
_PATIENCE = 10.0
"""Seconds to wait for a server's answer to a plain request."""


@click.command("doctor")
@click.option("--offline", is_flag=True, help="Leave the network alone.")
@click.option(
    "--output-format",
    "format",
    type=click.Choice(["text", "json"]),
    default="text",
    help="How the verdicts are written; `text` by default.",
)
@project_flags
@speaking
@pass_console
@click.pass_context
def command(
    ctx: click.Context,
    console: Console,
    /,
    offline: bool,
    format: Literal["text", "json"],
    **flags: Any,
) -> None:
    """Check Python, extras, model, key, server, cache and recordings; ask the model one tiny question.

    Exits with 0 if programs can run, 2 if the configuration is wrong, 3 if the model does not answer.
    """
    knock = None if offline else _knock
    verdicts = _told(console, diagnose(_surroundings(flags), knock), format, knock)
    ctx.exit(min((each.exit_code for each in verdicts if each.exit_code), default=0))


def _told(
    console: Console, verdicts: Iterable[Verdict], format: str, knock: Knock | None
) -> list[Verdict]:
    """Print each verdict as soon as it is there, or all of them as one JSON list."""

    def printed() -> Iterator[Verdict]:
        for each in verdicts:
            if format == "text":
                status = click.style(f"{each.status:5}", fg=_COLORS[each.status])
                console.result(f"{status} {each.check:11} {each.says}")
            yield each

    found = list(printed())
    if format == "json":
        console.result(json.dumps([asdict(each) for each in found], indent=2))
    elif knock is None:
        console.note("the server was not asked (--offline)")
    return found


def _surroundings(flags: dict[str, Any]) -> Surroundings:
    project = find_project(Path(), os.environ)
    place = f"[tool.njc] of {shown(project.file)}" if project.file else "the project"
    return Surroundings(
        sys.version_info[:3],
        os.environ,
        Path.cwd(),
        (("--set", options_from(flags["options"])), (place, project.options)),
        _version_of,
        obstacle_here(),
    )


def _version_of(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _knock(url: str) -> None:
    """Send a request without a key; whatever the server answers, it is there."""
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import urlopen

    try:
        urlopen(url, timeout=_PATIENCE).close()
    except HTTPError as refusal:
        refusal.close()
    except (HTTPException, ValueError) as error:
        raise OSError(f"no HTTP: {error}") from None
