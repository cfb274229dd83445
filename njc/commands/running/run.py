"""`njc run prog.njpy ARGS` and `njc run -m package.prog ARGS`: compile a program in memory and run it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from njc.commands.terminal.console import (
    INTERRUPTED_EXIT_CODE,
    CommandFunction,
    Console,
    add_options,
)
from njc.commands.terminal.flags import (
    PATH,
    parse_set_flags,
    project_flags,
    refuse_options,
    resolve_project,
    with_console,
)
from njc.commands.terminal.status_line import show_status
from njc.compiler import compile_source
from njc.project.build import Finding, NaturalSyntaxError, load_code, read_source
from njc.project.config import Project
from njc.project.report import format_findings, summarize_findings
from njc.project.units import SUFFIX, Unit, explaining_failure, find_units, format_path
from njc.run import run_as_main, run_module_as_main, show_traceback
from njrt.errors import ConfigurationError, NaturalError
from njrt.options import (
    ENVIRONMENT_VARIABLES,
    Options,
    merge_option_layers,
    read_environment_options,
)
from njrt.private_files import open_private

_SANDBOX_FLAGS = (
    click.option("--sandbox", is_flag=True, help="Run the program in a sandbox (bubblewrap)."),
    click.option("--work", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Let the sandbox write to DIR; create it."),
    click.option("--read", multiple=True, type=click.Path(path_type=Path, exists=True), metavar="PATH", help="Let the sandbox read PATH."),
    click.option("--env", multiple=True, metavar="NAME", help="Let the sandbox see a variable."),
    *(
        click.option(f"--max-{name}", type=click.IntRange(min=least), metavar=unit, help=text)
        for name, least, unit, text in (
            ("memory", 64, "MIB", "Memory of a sandboxed process [4096]."),
            ("processes", 8, "N", "Processes in the sandbox [256]."),
            ("cpu", 1, "SECONDS", "Processor time of a process [3600]."),
        )
    ),
)  # fmt: skip
SANDBOX_SETTINGS = ("sandbox", "work", "read", "env", "max_memory", "max_processes", "max_cpu")


def sandbox_flags(command: CommandFunction) -> CommandFunction:
    """Add the sandbox flags to a command."""
    return add_options(command, *_SANDBOX_FLAGS)


def run_in_sandbox(
    unit: Unit,
    program: Sequence[str],
    project: Project,
    console: Console,
    flags: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> int:
    """Run the program in a sandbox that can connect to its models; return the exit code.

    `program` is its name as on the command line, followed by its arguments.
    """
    from njc.sandbox import bubblewrap
    from njc.sandbox.limits import Limits

    user = bubblewrap.choose_user(Path.cwd())
    work = settings["work"]
    if work is not None and not work.exists():
        work.mkdir(parents=True)
        if user:
            os.chown(work, user, -1)
    limits = (("memory", "max_memory"), ("processes", "max_processes"), ("cpu_seconds", "max_cpu"))
    chosen = {name: settings[option] for name, option in limits if settings[option]}
    servers = bubblewrap.list_servers(_list_model_options(unit, project), os.environ)
    shared = [path.absolute() for path in settings["read"]]
    own = [path for path in (unit.root, unit.source, project.file) if path is not None]
    sandbox = bubblewrap.Sandbox(
        readable=(*bubblewrap.list_python_paths(), *own, *shared, Path.cwd()),
        work=work.absolute() if work is not None else None,
        servers=servers,
        environ=bubblewrap.select_variables(os.environ, servers, settings["env"]),
        home=Path.home(),
        here=Path.cwd(),
        limits=Limits(user=user, **chosen),
    )
    command = [sys.executable, "-m", "njc", "run", *_rebuild_flags(console, flags), *program]
    return sandbox.run(command)


def _list_model_options(unit: Unit, project: Project) -> Iterator[Options]:
    """Yield all options that may choose a model: for the program and predictions, then for its blocks."""
    outer = (read_environment_options(os.environ), project.options)
    yield merge_option_layers(*outer)
    if predictor := os.environ.get("NJC_PREDICT"):
        yield merge_option_layers(Options(model=predictor), *outer)
    for block in compile_source(read_source(unit), project=project.options).blocks:
        yield merge_option_layers(block.options, *outer)


def _rebuild_flags(console: Console, flags: Mapping[str, Any]) -> list[str]:
    """Return this `njc run`'s flags for the `njc run` in the sandbox."""
    again = [f"--set={setting}" for setting in flags["options"]]
    names = [name for name in ("warnings", "required_version") if flags[name]]
    again += [f"--{name.replace('_', '-')}={flags[name]}" for name in names]
    return again + ["-v"] * console.verbosity + ["-q"] * -console.verbosity


@click.command(
    "run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.argument("source", metavar="FILE", type=PATH)
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
        is_file = trace and not trace.startswith("store:")  # to keep its place after `os.chdir`
        os.environ["NJC_TRACE"] = os.path.abspath(trace) if is_file else trace
        if is_file and not flags["sandbox"]:
            check_trace(Path(trace).absolute())
    flags["options"] = _take_predictor(flags["options"])
    settings = {name: flags.pop(name) for name in SANDBOX_SETTINGS}
    is_sandboxed = bool(settings["sandbox"])
    if not is_sandboxed:
        refuse_options("works only with --sandbox; add --sandbox", *settings)
    _set_flags_before_environment(flags["options"])
    sys.addaudithook(_warn_of_ignored_blocks)
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
    sys.stdout = sys.stdout if sys.__stdout__ else None  # like Python's own for a closed stream
    with show_status(console):
        error = run_as_main(code, source, arguments)
    return _report_exception(console, error)


def _warn_of_ignored_blocks(event: str, arguments: tuple[Any, ...]) -> None:
    """Warn if the program runs a natural program with plain Python; a hook for audit events."""
    if event in ("subprocess.Popen", "os.exec", "os.posix_spawn"):
        python, *words = (os.fsdecode(word) for word in arguments[1])
        file = next((word for word in words if not word.startswith("-")), "")
        if os.path.basename(python).startswith("python") and file.endswith(SUFFIX):
            click.echo(
                f"warning: Python ignores the blocks of {file}; `python -m njc run` runs them",
                err=True,
            )


def check_trace(file: Path) -> None:
    """Raise ConfigurationError if a trace cannot be appended to a file; a file created by the check is removed."""
    exists = os.path.lexists(file)
    if exists and not (file.is_file() or file.is_dir()):  # a pipe could block
        return
    with explaining_failure(f"write the trace {format_path(file)}"):
        file.parent.mkdir(parents=True, exist_ok=True)
        os.close(open_private(file, os.O_WRONLY | os.O_APPEND))
        if not exists:
            file.unlink()


def _find_module_file(name: str) -> Path:
    """Find a module's file below the working directory, without importing the packages around it."""
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


def _take_predictor(settings: Sequence[str]) -> tuple[str, ...]:
    """Apply `--set predict=NAME`, a setting of the run; return the others, which are block options."""
    pairs = [setting.partition("=") for setting in settings]
    for key, _, name in pairs:
        if key.strip() == "predict" and name:
            os.environ["NJC_PREDICT"] = name
    return tuple("".join(pair) for pair in pairs if pair[0].strip() != "predict" or not pair[2])


def _set_flags_before_environment(settings: Sequence[str]) -> None:
    """Let `--set` override variables, which override the project's settings at run time."""
    options = parse_set_flags(settings)
    for variable, name in ENVIRONMENT_VARIABLES.items():
        if getattr(options, name) is not None:
            os.environ.pop(variable, None)
