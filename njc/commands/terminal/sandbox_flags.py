"""The flags of `njc run --sandbox`, and running a program with them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from njc.commands.terminal.console import Console
from njc.commands.terminal.console_flags import CommandFunction
from njc.compiler import compile_source
from njc.project.build import read_source
from njc.project.config import Project
from njc.project.units import Unit
from njrt.errors import ConfigurationError
from njrt.options import Options, merge_option_layers, read_environment_options

_FOLDER = click.Path(path_type=Path, file_okay=False)
_EXISTING = click.Path(path_type=Path, exists=True)
_SANDBOX_FLAGS = (
    click.option("--sandbox", is_flag=True, help="Run the program in a sandbox (bubblewrap)."),
    click.option("--work", type=_FOLDER, metavar="DIR", help="Let the sandbox write to DIR; create it."),
    click.option("--read", multiple=True, type=_EXISTING, metavar="PATH", help="Let the sandbox read PATH."),
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
"""The names of the flags, as click passes them."""


def sandbox_flags(command: CommandFunction) -> CommandFunction:
    """Add the sandbox flags to a command."""
    for option in reversed(_SANDBOX_FLAGS):
        command = option(command)
    return command


def is_sandbox_requested(settings: Mapping[str, Any]) -> bool:
    """Return whether to run in a sandbox; raises ConfigurationError if its other flags stand alone."""
    for name, value in settings.items():
        if value and not settings["sandbox"]:
            flag = name.replace("_", "-")
            raise ConfigurationError(f"--{flag} works only with --sandbox; add --sandbox")
    return bool(settings["sandbox"])


def run_in_sandbox(
    unit: Unit,
    program: Sequence[str],
    project: Project,
    console: Console,
    flags: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> int:
    """Run the program in a sandbox that can connect to its models; return the exit code.

    `program` is what names it on the command line, and its arguments.
    """
    from njc.sandbox.bubblewrap import (
        Sandbox,
        choose_user,
        list_python_paths,
        list_servers,
        run_sandboxed,
        select_variables,
    )
    from njc.sandbox.limits import Limits

    user = choose_user(Path.cwd())
    work = settings["work"]
    if work is not None and not work.exists():
        work.mkdir(parents=True)
        if user:
            os.chown(work, user, -1)
    chosen = {
        "memory": settings["max_memory"],
        "processes": settings["max_processes"],
        "cpu_seconds": settings["max_cpu"],
    }
    servers = list_servers(_list_model_options(unit, project), os.environ)
    shared = [path.absolute() for path in settings["read"]]
    own = [path for path in (unit.root, unit.source, project.file) if path is not None]
    sandbox = Sandbox(
        readable=(*list_python_paths(), *own, *shared, Path.cwd()),
        work=work.absolute() if work is not None else None,
        servers=servers,
        environ=select_variables(os.environ, servers, settings["env"]),
        home=Path.home(),
        here=Path.cwd(),
        limits=Limits(user=user, **{name: most for name, most in chosen.items() if most}),
    )
    command = [sys.executable, "-m", "njc", "run", *_rebuild_flags(console, flags), *program]
    return run_sandboxed(sandbox, command)


def _list_model_options(unit: Unit, project: Project) -> Iterator[Options]:
    """Yield all options that may choose a model: those of the program, then those of its blocks."""
    outer = (read_environment_options(os.environ), project.options)
    yield merge_option_layers(*outer)
    for block in compile_source(read_source(unit), project=project.options).blocks:
        yield merge_option_layers(block.options, *outer)


def _rebuild_flags(console: Console, flags: Mapping[str, Any]) -> list[str]:
    """Return the flags of this `njc run` for the `njc run` in the sandbox."""
    again = [f"--set={setting}" for setting in flags["options"]]
    again += [f"--warnings={flags['warnings']}"] if flags["warnings"] else []
    again += (
        [f"--required-version={flags['required_version']}"] if flags["required_version"] else []
    )
    return again + ["-v"] * console.verbosity + ["-q"] * -console.verbosity
