"""The flags -q, -v and --color of the group and of each command, and the console that they set.

Imported before the command is known: nothing here may import a part of the compiler.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from njc.commands.terminal.console import Console

CommandFunction = TypeVar("CommandFunction", bound=Callable[..., Any])
_pass_console = click.make_pass_decorator(Console, ensure=True)


def console_flags(command: CommandFunction) -> CommandFunction:
    """Add -q, -v and --color; they may stand before or after the command's name."""
    return add_options(
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
    """Add the flags of the console, and pass it to the command first; what the command returns is the exit code."""

    @functools.wraps(command)
    def run(console: Console, *arguments: Any, **flags: Any) -> None:
        click.get_current_context().exit(command(console, *arguments, **flags) or 0)

    return console_flags(_pass_console(run))


def add_options(
    command: CommandFunction, *options: Callable[[CommandFunction], CommandFunction]
) -> CommandFunction:
    """Add options to a command, in this order in its help."""
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
