"""The commands of `njc`: each in a module with its name, imported when it is called.

    njc check src        imports njc.commands.check and calls its `command`

A new command is a module in one of the folders here and an entry in `COMMAND_GROUPS`.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Mapping
from typing import Any

import click

from njc import __version__
from njc.commands.terminal import removed
from njc.commands.terminal.console import INTERRUPTED_EXIT_CODE, Console, console_flags
from njrt.data.similar import find_similar
from njrt.errors import NaturalError

COMMAND_GROUPS: Mapping[str, Mapping[str, str]] = {
    "Compile": {
        "init": "njc init shop",
        "build": "njc build src -o compiled_out",
        "check": "njc check src --hints",
        "show": "njc show src/mail.njpy",
        "explain": "njc explain NJ201",
        "lock": "njc lock src --mode static",
    },
    "Run": {
        "run": "njc run mail.njpy inbox.txt",
        "batch": "njc batch mail.njpy:classify rows.csv --out results.jsonl",
        "store": "njc store usage",
        "doctor": "njc doctor",
    },
    "Measure and test": {
        "compare": "njc compare -- pytest -q",
        "eval": "njc eval mail.njpy:route cases.jsonl --repeats 3",
        "trace": "njc trace trace.jsonl",
        "debug": "njc debug mail.njpy",
        "static": 'njc static src --repair --test "pytest -q"',
    },
    "Editors and agents": {
        "lsp": "njc lsp",
        "dap": "njc dap",
        "mcp": "njc mcp add clock -- python -m mcp_server_time",
        "skill": "njc skill",
    },
}
"""An example call of each command, by their group's heading, in the order of the help.

The commands are not imported for it.
"""
COMMANDS: Mapping[str, str] = {
    name: example for group in COMMAND_GROUPS.values() for name, example in group.items()
}


class Commands(click.Group):
    """The group of all commands; turns errors into a message and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"njc.commands.{cmd_name}").command
        assert isinstance(command, click.Command)
        command.epilog = command.epilog or f"Example: {COMMANDS[cmd_name]}"
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for heading, names in COMMAND_GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), read_summary(name)) for name in names])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest a similar name for an unknown command, or the successor of a removed one."""
        for name in (args[0], " ".join(args[:2])):
            if name in removed.COMMANDS:
                ctx.fail(f"`njc {name}` was removed in njc 0.3: {removed.COMMANDS[name]}")
        close = find_similar(args[0], COMMANDS)
        if args[0] not in COMMANDS and close and not args[0].startswith("-"):
            ctx.fail(f"no such command `{args[0]}`; did you mean `{close}`?")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a NaturalError has its exit code, findings have 1, Ctrl-C has 130."""
        try:
            return super().invoke(ctx)
        except click.NoSuchOption as error:
            command = error.ctx.info_name if error.ctx is not None else None
            if text := removed.find_removed_flag(error.option_name, command or ""):
                raise click.UsageError(text, error.ctx) from None
            raise
        except NaturalError as error:
            ctx.ensure_object(Console).error(error)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            ctx.ensure_object(Console).note("\ninterrupted")
            ctx.exit(INTERRUPTED_EXIT_CODE)
        except SyntaxError as error:
            from njc.project.build import NaturalSyntaxError
            from njc.project.report import format_findings

            if not isinstance(error, NaturalSyntaxError):
                raise
            ctx.ensure_object(Console).findings(format_findings(error.findings, "text"))
            ctx.exit(1)


def read_summary(name: str) -> str:
    """Read the first sentence of a command's help, without importing the command."""
    source = pkgutil.get_data(__name__, f"{name}.py") or b""
    found = _SUMMARY.search(source)
    return found[1].decode() if found else ""


_SUMMARY = re.compile(rb'^def command\(.*?"""(.+?)(?:"""|\n)', re.MULTILINE | re.DOTALL)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog='Shell completion: eval "$(_NJC_COMPLETE=bash_source njc)", or zsh_source, fish_source.',
)
@click.version_option(__version__, message="njc %(version)s")
@console_flags
def njc() -> None:
    """Compile and run natural code: prompts inside Python programs that share their state."""
