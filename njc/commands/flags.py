"""Flags that several commands share: how much to say, and what to override of the project's settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from njc import __version__
from njc.commands.console import Console
from njc.project.config import Project, check_required_version, find_project
from njc.project.report import REPORT_FORMATS
from njrt.errors import ConfigurationError
from njrt.options import OPTION_CHOICES, Options, make_options, merge_option_layers, parse_option

CommandFunction = TypeVar("CommandFunction", bound=Callable[..., Any])
FlagValue = Any
"""The value of a flag, as click has read it."""

pass_console = click.make_pass_decorator(Console, ensure=True)
SOURCES = click.argument("sources", nargs=-1, metavar="[SRC]...", type=click.Path(path_type=Path))
SOURCE = click.argument("source", metavar="FILE", type=click.Path(path_type=Path))
OUT = click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where compiled files go; by default beside their sources.",
)
WATCH = click.option("--watch", is_flag=True, help="Do it again whenever a source changes.")
JOBS = click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes to compile with, blocks to write at once; by default as many as pay.",
)
OUTPUT_FORMAT = click.option(
    "--output-format",
    "format",
    type=click.Choice(REPORT_FORMATS),
    default="text",
    help="How findings are written; `text` by default.",
)
MODE = click.option(
    "--mode",
    type=click.Choice(OPTION_CHOICES["mode"]),
    help="What becomes of blocks that do not say it themselves; `live` by default.",
)
ATTEMPTS = click.option(
    "--attempts",
    type=click.IntRange(min=1),
    default=4,
    metavar="N",
    help="How often a model may try to write the code of a static block; 4 by default.",
)
_SELECTION = (
    click.option("--include", multiple=True, metavar="GLOB", help="Compile only such sources."),
    click.option("--exclude", multiple=True, metavar="GLOB", help="Leave such sources alone."),
)
_SETTINGS = (
    click.option(
        "-W",
        "--warnings",
        type=click.Choice(["default", "error"]),
        help="`-W error` makes errors of warnings.",
    ),
    click.option("--required-version", metavar="SPEC", help="Fail unless njc has such a version."),
    click.option(
        "--set",
        "options",
        multiple=True,
        metavar="KEY=VALUE",
        help="Set an option of blocks for the whole project, such as `max-effects=20`.",
    ),
)


def console_flags(command: CommandFunction) -> CommandFunction:
    """Add -q, -v and --color, which mean the same before and after the command's name."""
    return _add_options(
        command,
        click.option(
            "-q",
            "--quiet",
            count=True,
            expose_value=False,
            callback=_decrease_verbosity,
            help="Say less.",
        ),
        click.option(
            "-v",
            "--verbose",
            count=True,
            expose_value=False,
            callback=_increase_verbosity,
            help="Say more.",
        ),
        click.option(
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            expose_value=False,
            callback=_set_color,
            help="Color the output; by default on terminals only.",
        ),
    )


def project_flags(command: CommandFunction) -> CommandFunction:
    """Add the flags that override the project's settings; `resolve_project` takes them as a mapping."""
    return _add_options(command, *_SETTINGS)


def selection_flags(command: CommandFunction) -> CommandFunction:
    """Add the flags that choose among sources."""
    return _add_options(command, *_SELECTION)


def resolve_project(places: Sequence[Path], flags: Mapping[str, FlagValue]) -> Project:
    """Read the settings that hold for sources at `places`: flags, environment, project file.

    Raises ConfigurationError where they contradict themselves, or this version of njc.
    """
    project = find_project(places[0] if places else Path(), os.environ)
    options = (
        *flags.get("options", ()),
        *([f"mode={mode}"] if (mode := flags.get("mode")) else ()),
    )
    said = {name: each for name, each in flags.items() if each and name not in ("options", "mode")}
    if said.get("out"):
        said["out"] = Path(os.path.normpath(said["out"].absolute()))
    project = replace(
        project, **said, options=merge_option_layers(parse_set_flags(options), project.options)
    )
    check_required_version(project.required_version, __version__)
    return project


def parse_set_flags(settings: Sequence[str]) -> Options:
    """Read options as `--set KEY=VALUE` gives them."""
    read: dict[str, FlagValue] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise ConfigurationError(f"--set takes KEY=VALUE, not `{setting}`")
        name = key.strip().replace("-", "_")
        read[name] = parse_option(name, text)
    return make_options(read, "--set")


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
    """Decide on colors: the flag, then the variables NO_COLOR and FORCE_COLOR, then the terminal."""
    if when is not None and when != "auto":
        ctx.color = when == "always"
    elif ctx.color is None and os.environ.get("NO_COLOR"):
        ctx.color = False
    elif ctx.color is None and os.environ.get("FORCE_COLOR"):
        ctx.color = True
