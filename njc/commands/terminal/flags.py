"""Flags that several commands share: output, settings of the project, selection of sources."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from njc import __version__
from njc.commands.terminal.console import Console
from njc.project.config import Project, check_required_version, find_project
from njc.project.report import REPORT_FORMATS
from njrt.errors import ConfigurationError
from njrt.options import (
    OPTION_CHOICES,
    OPTION_NAMES,
    Options,
    make_options,
    merge_option_layers,
    parse_option,
)

CommandFunction = TypeVar("CommandFunction", bound=Callable[..., Any])
FlagValue = Any
"""The value of a flag as click reads it."""


def _complete_setting(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Complete the key of `KEY=VALUE`, and the value where the option has a closed set of them."""
    key, equals, _ = incomplete.partition("=")
    choices = OPTION_CHOICES.get(key.replace("-", "_"), ()) if equals else ()
    settings = [f"{key}={choice}" for choice in choices]
    settings += [] if equals else [f"{name.replace('_', '-')}=" for name in OPTION_NAMES]
    return [setting for setting in settings if setting.startswith(incomplete)]


_pass_console = click.make_pass_decorator(Console, ensure=True)
SOURCES = click.argument("sources", nargs=-1, metavar="[SRC]...", type=click.Path(path_type=Path))
SOURCE = click.argument("source", metavar="FILE", type=click.Path(path_type=Path))
OUT = click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Output directory (default: in place).",
)
WATCH = click.option("--watch", is_flag=True, help="Run again whenever a source changes.")
JOBS = click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Parallel jobs (default: automatic).",
)
OUTPUT_FORMAT = click.option(
    "--output-format",
    "format",
    type=click.Choice(REPORT_FORMATS),
    default="text",
    help="Format of the findings (default: text).",
)
TEXT_OR_JSON = click.option(
    "--output-format",
    "format",
    type=click.Choice(["text", "json"]),
    default="text",
    help="Format of the output (default: text).",
)
MODE = click.option(
    "--mode",
    type=click.Choice(OPTION_CHOICES["mode"]),
    help="Mode of blocks without one (default: live).",
)
ATTEMPTS = click.option(
    "--attempts",
    type=click.IntRange(min=1),
    default=4,
    metavar="N",
    help="Attempts per block (default: 4).",
)
_SELECTION = (
    click.option(
        "--include", multiple=True, metavar="GLOB", help="Compile only sources that match."
    ),
    click.option(
        "--exclude", multiple=True, metavar="GLOB", help="Do not compile sources that match."
    ),
)
_SETTINGS = (
    click.option(
        "-W",
        "--warnings",
        type=click.Choice(["default", "error"]),
        help="`error` treats warnings as errors.",
    ),
    click.option("--required-version", metavar="SPEC", help="Fail unless njc has this version."),
    click.option(
        "--set",
        "options",
        multiple=True,
        metavar="KEY=VALUE",
        shell_complete=_complete_setting,
        help="Set an option of all blocks.",
    ),
)
_SETTING_NAMES = ("out", "include", "exclude", "warnings", "required_version")
"""The flags that override a field of the project."""


def console_flags(command: CommandFunction) -> CommandFunction:
    """Add -q, -v and --color; they may stand before or after the command's name."""
    return _add_options(
        command,
        click.option(
            "-q",
            "--quiet",
            count=True,
            expose_value=False,
            callback=_decrease_verbosity,
            help="Print less.",
        ),
        click.option(
            "-v",
            "--verbose",
            count=True,
            expose_value=False,
            callback=_increase_verbosity,
            help="Print more.",
        ),
        click.option(
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            expose_value=False,
            callback=_set_color,
            help="Color the output (default: on terminals).",
        ),
    )


def with_console(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags of the console, and pass it to the command first."""
    return console_flags(_pass_console(command))


def project_flags(command: CommandFunction) -> CommandFunction:
    """Add the flags that override the project's settings; `resolve_project` takes them as a mapping."""
    return _add_options(command, *_SETTINGS)


def selection_flags(command: CommandFunction) -> CommandFunction:
    """Add the flags that choose among sources."""
    return _add_options(command, *_SELECTION)


def resolve_project(places: Sequence[Path], flags: Mapping[str, FlagValue]) -> Project:
    """Read the settings for sources at `places`: flags, environment, project file.

    Raises ConfigurationError if they are wrong or require another version of njc.
    """
    project = find_project(places[0] if places else Path(), os.environ)
    options = (
        *flags.get("options", ()),
        *([f"mode={mode}"] if (mode := flags.get("mode")) else ()),
    )
    settings = {name: flags[name] for name in _SETTING_NAMES if flags.get(name)}
    if "out" in settings:
        settings["out"] = Path(os.path.normpath(settings["out"].absolute()))
    project = replace(
        project, **settings, options=merge_option_layers(parse_set_flags(options), project.options)
    )
    check_required_version(project.required_version, __version__)
    return project


def parse_set_flags(settings: Sequence[str]) -> Options:
    """Read options from the values of `--set KEY=VALUE`."""
    values: dict[str, FlagValue] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise ConfigurationError(f"--set takes KEY=VALUE, not `{setting}`")
        name = key.strip().replace("-", "_")
        values[name] = parse_option(name, text)
    return make_options(values, "--set")


def _add_options(
    command: CommandFunction, *options: Callable[[CommandFunction], CommandFunction]
) -> CommandFunction:
    for option in reversed(options):
        command = option(command)
    return command


def _decrease_verbosity(ctx: click.Context, parameter: click.Parameter, count: int) -> None:
    ctx.ensure_object(Console).verbosity -= count


def _increase_verbosity(ctx: click.Context, parameter: click.Parameter, count: int) -> None:
    ctx.ensure_object(Console).verbosity += count


def _set_color(ctx: click.Context, parameter: click.Parameter, when: str | None) -> None:
    """Choose colors by the flag, the variables NO_COLOR and FORCE_COLOR, and the terminal, in this order."""
    if when is not None and when != "auto":
        ctx.color = when == "always"
    elif ctx.color is None and os.environ.get("NO_COLOR"):
        ctx.color = False
    elif ctx.color is None and os.environ.get("FORCE_COLOR"):
        ctx.color = True
