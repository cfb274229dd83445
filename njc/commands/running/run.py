"""`njc run prog.njpy ARGS` and `njc run -m package.prog ARGS`: compile a program in memory and run it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from njc.commands.terminal.console import Console
from njc.commands.terminal.flags import (
    SOURCE,
    parse_set_flags,
    project_flags,
    resolve_project,
    with_console,
)
from njc.commands.terminal.sandbox_flags import (
    SANDBOX_SETTINGS,
    is_sandbox_requested,
    run_in_sandbox,
    sandbox_flags,
)
from njc.commands.terminal.status_line import show_status
from njc.project.build import Finding, read_source
from njc.project.load import NaturalSyntaxError, load_code
from njc.project.report import format_findings, summarize_findings
from njc.project.units import SUFFIX, find_units
from njc.run import run_as_main, run_module_as_main, show_traceback
from njrt.errors import ConfigurationError, NaturalError
from njrt.options import ENVIRONMENT_VARIABLES

_INTERRUPTED_EXIT_CODE = 130
"""128 + SIGINT, as in shells."""


@click.command(
    "run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@SOURCE
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "-m", "--module", "is_module", is_flag=True, help="FILE is a module's name, as in python -m."
)
@click.option("--trace", metavar="FILE", help="Append every event of every block to FILE.")
@sandbox_flags
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
    if trace is not None:
        os.environ["NJC_TRACE"] = trace
    flags["options"] = _take_predictor(flags["options"])
    settings = {name: flags.pop(name) for name in SANDBOX_SETTINGS}
    is_sandboxed = is_sandbox_requested(settings)
    _set_flags_before_environment(flags["options"])
    if is_module and not is_sandboxed:
        with show_status(console):
            error = run_module_as_main(str(source), arguments)
        return _report_exception(console, error)
    file = _find_module_file(str(source)) if is_module else source
    project = resolve_project([file], flags)
    if file.is_dir():
        raise ConfigurationError(f"{file} is a directory; name the program, such as main.njpy")
    (unit,) = find_units([file], project)
    if is_sandboxed:
        program = ["-m", str(source)] if is_module else [unit.display_path]
        return run_in_sandbox(unit, [*program, *arguments], project, console, flags, settings)
    try:
        code, warnings = load_code(source, read_source(unit).data, project)
    except NaturalSyntaxError as uncompilable:
        _show_findings(console, uncompilable.findings)
        return 1
    _show_findings(console, warnings)
    with show_status(console):
        error = run_as_main(code, source, arguments)
    return _report_exception(console, error)


def _find_module_file(name: str) -> Path:
    """Find the file of a module below the working directory, without importing the packages around it."""
    place = Path(*name.split("."))
    for file in (place.with_suffix(SUFFIX), place / f"__main__{SUFFIX}"):
        if file.is_file():
            return file
    raise ConfigurationError(
        f"no natural module `{name}` below the working directory; --sandbox runs no other"
    )


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
            return _INTERRUPTED_EXIT_CODE
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
        console.note(
            summarize_findings(findings, len({finding.source.path for finding in findings}))
        )


def _take_predictor(settings: Sequence[str]) -> tuple[str, ...]:
    """Apply `--set predict=NAME`, which is a setting of the run; return the others, which are options of blocks."""
    pairs = [setting.partition("=") for setting in settings]
    for key, _, name in pairs:
        if key.strip() == "predict" and name:
            os.environ["NJC_PREDICT"] = name
    return tuple("".join(pair) for pair in pairs if pair[0].strip() != "predict" or not pair[2])


def _set_flags_before_environment(settings: Sequence[str]) -> None:
    """Let `--set` override variables, which override the project at run time."""
    options = parse_set_flags(settings)
    for variable, name in ENVIRONMENT_VARIABLES.items():
        if getattr(options, name) is not None:
            os.environ.pop(variable, None)
