"""The commands of `njc`: each in a module of its name, imported when it is called.

    njc check src        imports njc.commands.compiling.check and calls its `command`

A new command is a new module here and its name in `COMMANDS`; one in a subfolder is also in `MODULES`.
"""

from __future__ import annotations

import difflib
import importlib
from typing import Any

import click

from njc import __version__
from njc.commands.terminal.console import Console
from njc.commands.terminal.flags import console_flags
from njrt.errors import NaturalError

COMMANDS = {
    "build": "compiling",
    "check": "compiling",
    "types": "compiling",
    "run": "running",
    "show": "compiling",
    "trace": "running",
    "debug": "running",
    "where": "compiling",
    "clean": "compiling",
    "static": "static_code",
    "lock": "static_code",
    "compare": "running",
    "batch": "production",
    "migrate-model": "production",
    "replay": "production",
    "canary": "production",
    "migrate": "setup",
    "doctor": "setup",
    "cache": "setup",
    "usage": "running",
    "explain": "compiling",
    "init": "setup",
    "skill": "setup",
    "dap": "editors",
    "lsp": "editors",
}
"""The commands, in the order of the help, and the folder of the module of each."""


class Commands(click.Group):
    """The group of all commands; turns errors into a message and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the commands in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command that is called."""
        if cmd_name not in COMMANDS:
            return None
        module = f"njc.commands.{COMMANDS[cmd_name]}.{cmd_name.replace('-', '_')}"
        command = importlib.import_module(module).command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest a similar name for an unknown command."""
        close = difflib.get_close_matches(args[0], COMMANDS, n=1)
        if args[0] not in COMMANDS and close and not args[0].startswith("-"):
            ctx.fail(f"no such command `{args[0]}`; did you mean `{close[0]}`?")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a NaturalError has its own exit code."""
        try:
            return super().invoke(ctx)
        except NaturalError as error:
            ctx.ensure_object(Console).error(error)
            ctx.exit(error.exit_code)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog='Shell completion: eval "$(_NJC_COMPLETE=bash_source njc)", or zsh_source, fish_source.',
)
@click.version_option(__version__, message="njc %(version)s")
@console_flags
def njc() -> None:
    """Compile and run natural code: prompts inside Python programs that share their state."""
