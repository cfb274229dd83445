"""`njc run prog.njpy ARGS`: compile a program in memory and run it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from njc.commands.console import Console
from njc.commands.flags import (
    SOURCE,
    options_from,
    pass_console,
    project_flags,
    project_for,
    speaking,
)
from njc.commands.sandbox_flags import boundary_flags, is_wanted, run_in_sandbox
from njc.project.load import UncompilableSource, code_of
from njc.project.build import Finding, source_of
from njc.project.report import rendered, summed_up
from njc.project.units import units_of
from njc.run import run_as_main, show_traceback
from njrt.errors import ConfigurationError, NaturalError
from njrt.options import ENVIRONMENT

_INTERRUPTED = 130
"""128 + SIGINT, as shells have it."""


@click.command(
    "run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@SOURCE
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@boundary_flags
@project_flags
@speaking
@pass_console
@click.pass_context
def command(
    ctx: click.Context, console: Console, /, source: Path, arguments: Sequence[str], **flags: Any
) -> None:
    """Run a natural program with its arguments, as `python` would; njc's own flags go before FILE."""
    boundary = {name: flags.pop(name) for name in ("sandbox", "work", "read", "env")}
    project = project_for([source], flags)
    if source.is_dir():
        raise ConfigurationError(f"{source} is a directory; name the program, such as main.njpy")
    (unit,) = units_of([source], project)
    _set_flags_before_environment(flags["options"])
    if is_wanted(boundary):
        ctx.exit(run_in_sandbox(unit, arguments, project, console, flags, boundary))
    try:
        code, warnings = code_of(source, source_of(unit).data, project)
    except UncompilableSource as uncompilable:
        _show_findings(console, uncompilable.findings)
        ctx.exit(1)
    _show_findings(console, warnings)
    error = run_as_main(code, source, arguments)
    if error is not None:
        ctx.exit(_exit_code(console, error))


def _exit_code(console: Console, error: BaseException) -> int:
    """Show an exception that the program did not catch, and say what the process exits with."""
    match error:
        case SystemExit():
            raise error
        case KeyboardInterrupt():
            if console.verbosity > 0:
                show_traceback(error)
            return _INTERRUPTED
        case NaturalError():
            console.error(error)
            return error.exit_code
        case UncompilableSource():
            _show_findings(console, error.findings)
            return 1
        case _:
            show_traceback(error)
            return 1


def _show_findings(console: Console, findings: Sequence[Finding]) -> None:
    if findings:
        console.findings(rendered(findings, "text"))
        console.note(summed_up(findings, len({each.source.path for each in findings})))


def _set_flags_before_environment(settings: Sequence[str]) -> None:
    """Let flags win over variables, which at run time win over all that a project says."""
    said = options_from(settings)
    for variable, name in ENVIRONMENT.items():
        if getattr(said, name) is not None:
            os.environ.pop(variable, None)
