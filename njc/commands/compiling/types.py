"""`njc types src -- mypy --strict`: run a type checker on natural code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from njc.commands.terminal.console import Console
from njc.commands.terminal.flags import SOURCES, resolve_project, with_console
from njc.editors.type_check.checker import check_types
from njc.project.report import format_findings
from njrt.errors import ConfigurationError

_CHECKER = f"{__name__}.checker"


class CommandAfterDashes(click.Command):
    """A command with arguments that end at `--`; another command follows."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words after `--`, and parse the words before it."""
        end = args.index("--") if "--" in args else len(args)
        ctx.meta[_CHECKER] = args[end + 1 :]
        return super().parse_args(ctx, args[:end])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Name the other command in the usage line."""
        return [*super().collect_usage_pieces(ctx), "-- CHECKER [ARG]..."]


@click.command("types", cls=CommandAfterDashes)
@SOURCES
@with_console
def command(console: Console, sources: Sequence[Path]) -> int:
    """Run a type checker (mypy, pyright) on natural code.

    SRC are files or directories (default: `src` of [tool.njc] in pyproject.toml). The report has
    the lines and columns of the sources, also for references in prompts.
    """
    checker: Sequence[str] = click.get_current_context().meta[_CHECKER]
    if not checker:
        raise ConfigurationError(
            "name the type checker behind `--`: njc types src -- mypy --strict"
        )
    report = check_types(sources, checker, resolve_project(sources, {}))
    if report.findings:
        console.findings(format_findings(report.findings, "text"))
        console.findings(f"{checker[0]} was not run")
    click.echo(report.output, nl=False)
    click.echo(report.errors, err=True, nl=False)
    return report.status
