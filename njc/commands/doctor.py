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
from njc.commands.flags import console_flags, parse_set_flags, pass_console, project_flags
from njc.doctor import HealthCheck, HostEnvironment, UrlProbe, diagnose
from njc.project.config import find_project
from njc.project.units import format_path
from njc.sandbox.bubblewrap import find_sandbox_obstacle

_COLORS = {"ok": "green", "warn": "yellow", "fail": "red"}
_PROBE_TIMEOUT_SECONDS = 10.0
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
@console_flags
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
    knock = None if offline else _probe_server
    verdicts = _print_verdicts(console, diagnose(_collect_environment(flags), knock), format, knock)
    ctx.exit(min((each.exit_code for each in verdicts if each.exit_code), default=0))


def _print_verdicts(
    console: Console, verdicts: Iterable[HealthCheck], format: str, knock: UrlProbe | None
) -> list[HealthCheck]:
    """Print each verdict as soon as it is there, or all of them as one JSON list."""

    def printed() -> Iterator[HealthCheck]:
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


def _collect_environment(flags: dict[str, Any]) -> HostEnvironment:
    project = find_project(Path(), os.environ)
    place = f"[tool.njc] of {format_path(project.file)}" if project.file else "the project"
    return HostEnvironment(
        sys.version_info[:3],
        os.environ,
        Path.cwd(),
        (("--set", parse_set_flags(flags["options"])), (place, project.options)),
        _find_version,
        find_sandbox_obstacle(),
    )


def _find_version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _probe_server(url: str) -> None:
    """Send a request without a key; whatever the server answers, it is there."""
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import urlopen

    try:
        urlopen(url, timeout=_PROBE_TIMEOUT_SECONDS).close()
    except HTTPError as refusal:
        refusal.close()
    except (HTTPException, ValueError) as error:
        raise OSError(f"no HTTP: {error}") from None
