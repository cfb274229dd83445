"""Flags that several commands share: project settings, source selection."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import click
from click.core import ParameterSource

from njc import __version__
from njc.commands.terminal.console import CommandFunction, add_options
from njc.commands.terminal.console import with_console as with_console
from njc.project.config import Project, check_required_version, find_project, make_absolute
from njc.project.report import REPORT_FORMATS
from njc.project.units import format_path
from njrt.data.options import (
    OPTION_CHOICES,
    Mode,
    Options,
    make_options,
    merge_option_layers,
    parse_option,
)
from njrt.errors import ConfigurationError

FlagValue = Any


PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
COUNT = click.IntRange(min=1)
SOURCES = click.argument("sources", nargs=-1, metavar="[SRC]...", type=PATH)
TARGET = click.argument("target", metavar="PROGRAM:FUNCTION")
CASES = click.argument("cases", metavar="[CASES]", type=FILE, required=False)
REPEATS = click.option("--repeats", type=COUNT, default=1, metavar="N", help="Runs of each case.")
CASE_JOBS = click.option(
    "-j", "--jobs", type=COUNT, default=1, metavar="N", help="Cases at a time."
)


def find_store_url() -> str | None:
    """Return the store that the environment or the working directory's project sets."""
    return os.environ.get("NJC_STORE") or find_project(Path.cwd(), os.environ).options.store


STORE = click.option(
    "--store", "url", default=find_store_url, metavar="URL", help="The store of cache and budgets."
)
OUT = click.option(
    "-o", "--out", type=PATH, metavar="DIR", help="Output directory (default: in place)."
)
JOBS = click.option(
    "-j", "--jobs", type=COUNT, metavar="N", help="Parallel jobs (default: automatic)."
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
_ALL_MODES: tuple[Mode, ...] = get_args(Mode)
MODES = click.option("--modes", metavar="A,B", help="Modes to compare, separated by commas.")
OPEN_EXIT_CODE = 3
"""The exit code if blocks wait for their writer."""

WRITER = click.option(
    "--writer", metavar="MODEL", help="The model that writes code, or folder:DIR."
)
WRITER_NAME = click.option(
    "--writer-name",
    default="",
    metavar="NAME",
    help="Name of who answers in the folder.",
)
ATTEMPTS = click.option(
    "--attempts", type=COUNT, default=4, metavar="N", help="Attempts per block (default: 4)."
)


def project_flags(command: CommandFunction) -> CommandFunction:
    """Add flags that override the project's settings; `resolve_project` takes them as a mapping."""
    return add_options(
        command,
        click.option(
            "--set",
            "options",
            multiple=True,
            metavar="KEY=VALUE",
            help="Set an option of all blocks.",
        ),
    )


def resolve_project(places: Sequence[Path], flags: Mapping[str, FlagValue]) -> Project:
    """Read settings for `places`: flags, environment, project file; raises ConfigurationError."""
    folders = dict.fromkeys(it if it.is_dir() else it.parent for it in places or [Path()])
    projects = [find_project(folder, os.environ) for folder in folders]
    files = sorted({format_path(it.file) for it in projects if it.file})
    if len(files) > 1:
        raise ConfigurationError(f"settings are in {' and '.join(files)}; run njc for each of them")
    options = [*flags.get("options", ())]
    options += [f"{name}={value}" for name in ("mode", "writer") if (value := flags.get(name))]
    merged = merge_option_layers(parse_set_flags(options), projects[0].options)
    out = make_absolute(flags["out"]) if flags.get("out") else projects[0].out
    project = replace(projects[0], out=out, options=merged)
    check_required_version(project.required_version, __version__)
    return project


def parse_modes(text: str | None) -> list[Mode]:
    """Return the modes in a list separated by commas, or all; raises ConfigurationError."""
    given = [name for each in (text or ",".join(_ALL_MODES)).split(",") if (name := each.strip())]
    for name in given:
        if name not in _ALL_MODES:
            raise ConfigurationError(f"no mode `{name}`; the modes are {', '.join(_ALL_MODES)}")
    return [mode for mode in _ALL_MODES if mode in given]


def refuse_options(problem: str, *names: str) -> None:
    """Raise ConfigurationError if one of the parameters is given; `problem` continues its name."""
    context = click.get_current_context()
    for parameter in context.command.params:
        name, shown = parameter.name or "", parameter.opts[-1]
        is_given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        # Arguments that may occur any number of times are never missing.
        if name in names and is_given and context.params[name] != ():
            raise ConfigurationError(f"{shown if shown[0] == '-' else shown.upper()} {problem}")


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
