"""docs/reference/settings.md has a row for each setting, with its default, variable and flag."""

from __future__ import annotations

import inspect
import re
from dataclasses import MISSING, fields
from typing import Any

import click
from fences import ROOT

import njrt
from njc.commands import COMMANDS, njc
from njc.doctor import RUNTIME_VARIABLES
from njc.project.config import PROJECT_VARIABLES, Project
from njrt.data.options import BUILD_OPTIONS, DEFAULTS, ENVIRONMENT_VARIABLES, OPTION_NAMES

LINES = (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8").splitlines()
ROWS = [
    [cell.replace("\0", "|").strip() for cell in line[2:-2].replace(r"\|", "\0").split(" | ")]
    for line in [line for line in LINES if line.startswith("| ")][2:]
]
BY_NAME = {row[0].strip("`"): row for row in ROWS if row[0]}
DEPENDING = {"policy", "protocol", "temperature", "store", "cache"}
"""Settings whose default depends on something else."""


def show(default: Any) -> str:
    if default in (None, MISSING, ()):
        return ""
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"


def list_flags(name: str) -> set[str]:
    """Return the flags of a command and of its own commands."""
    command = njc.get_command(click.Context(njc), name)
    assert command is not None
    inner = command.commands.values() if isinstance(command, click.Group) else ()
    return {flag for each in (command, *inner) for it in each.params for flag in it.opts}


def test_every_setting_has_one_row_and_a_meaning() -> None:
    arguments = [name for name in inspect.signature(njrt.using).parameters if name != "options"]
    others = [name for name in arguments if name not in OPTION_NAMES]
    assert [*BY_NAME] == [*OPTION_NAMES, *PROJECT_VARIABLES.values(), *others]
    assert all(len(row) == 5 and len(row[2]) > 10 for row in ROWS)


def test_the_defaults_are_those_of_the_code() -> None:
    defaults: dict[str, Any] = {name: getattr(DEFAULTS, name) for name in OPTION_NAMES}
    defaults |= {field.name.replace("_", "-"): field.default for field in fields(Project)}
    shown = {name: row[1] for name, row in BY_NAME.items() if name not in DEPENDING}
    assert shown == {name: show(defaults.get(name)) for name in shown}
    assert all(BY_NAME[name][1] for name in DEPENDING)


def test_every_variable_and_flag_is_real() -> None:
    variables = {word for row in ROWS for word in re.findall(r"`(NJC_\w+)`", row[3])}
    read = [name for name, option in ENVIRONMENT_VARIABLES.items() if option not in BUILD_OPTIONS]
    assert variables == {*read, *PROJECT_VARIABLES, *RUNTIME_VARIABLES}
    flags = [(row[0], flag) for row in ROWS for flag in re.findall(r"`(--[\w-]+)`", row[3])]
    assert {flag for _, flag in flags} <= set().union(*map(list_flags, COMMANDS))
    assert all(name.strip("`").replace("_", "-") == flag[2:] for name, flag in flags)
    listed = next(line for line in LINES if line.startswith("variable. These commands have it:"))
    having = {name for name in COMMANDS if "--set" in list_flags(name)}
    assert having == {*re.findall(r"`(\w+)`", listed)}
