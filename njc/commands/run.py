"""`njc run prog.njpy ARGS` or `njc run -m package.prog ARGS`: run a program compiled in memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from njc.commands.terminal.console import INTERRUPTED_EXIT_CODE, Console
from njc.commands.terminal.flags import (
    PATH,
    parse_set_flags,
    project_flags,
    resolve_project,
    with_console,
)
from njc.commands.terminal.removed import refuse_removed_flag
from njc.commands.terminal.status_line import show_status
from njc.project.build import Finding, NaturalSyntaxError, read_source
from njc.project.report import format_findings, summarize_findings
from njc.project.units import find_units
from njc.run import run_as_main, run_module_as_main, show_traceback
from njc.static.load import load_code
from njrt.data.options import ENVIRONMENT_VARIABLES
from njrt.errors import ConfigurationError, NaturalError
from njrt.log.recording_place import refuse_store


@click.command(
    "run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.argument("source", metavar="FILE", type=PATH)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "-m", "--module", "is_module", is_flag=True, help="FILE is a module's name, as in python -m."
)
@click.option("--trace", metavar="FILE", help="Append every event of every block to FILE.")
@project_flags
@with_console
def command(
    console: Console,
    source: Path,
    arguments: Sequence[str],
    is_module: bool,
    trace: str | None,
    **flags: Any,
) -> int:
    """Compile FILE in memory and run it; flags go before FILE."""
    refuse_removed_flag(source)
    if str(source).startswith("-"):
        raise click.NoSuchOption(str(source))
    if trace is not None:
        refuse_store(trace)
        os.environ["NJC_TRACE"] = trace and os.path.abspath(trace)  # also after `os.chdir`
    _set_flags_before_environment(flags["options"])
    if is_module:
        with show_status(console):
            error = run_module_as_main(str(source), arguments)
        return _report_exception(console, error)
    project = resolve_project([source], flags)
    if source.is_dir():
        raise ConfigurationError(f"{source} is a directory; name the program, such as main.njpy")
    (unit,) = find_units([source], project)
    try:
        code, warnings = load_code(source, read_source(unit).data, project)
    except NaturalSyntaxError as uncompilable:
        _show_findings(console, uncompilable.findings)
        return 1
    _show_findings(console, warnings)
    sys.stdout = sys.stdout if sys.__stdout__ else None  # like Python's own for a closed stream
    with show_status(console):
        error = run_as_main(code, source, arguments)
    return _report_exception(console, error)


def _report_exception(console: Console, error: BaseException | None) -> int:
    """Show an exception that the program did not catch; return the exit code."""
    match error:
        case None:
            return 0
        case SystemExit():
            raise error
        case KeyboardInterrupt():
            if console.verbosity > 0:
                show_traceback(error)
            return INTERRUPTED_EXIT_CODE
        case NaturalError():
            console.error(error)
            return error.exit_code
        case NaturalSyntaxError():
            _show_findings(console, error.findings)
            return 1
        case _:
            show_traceback(error)
            return 1


def _show_findings(console: Console, findings: Sequence[Finding]) -> None:
    if findings:
        console.findings(format_findings(findings, "text"))
        console.note(summarize_findings(findings, len({each.source.path for each in findings})))


def _set_flags_before_environment(settings: Sequence[str]) -> None:
    """Let `--set` override variables, which override the project's settings at run time."""
    options = parse_set_flags(settings)
    for variable, name in ENVIRONMENT_VARIABLES.items():
        if getattr(options, name) is not None:
            os.environ.pop(variable, None)
