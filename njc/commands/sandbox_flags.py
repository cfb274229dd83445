"""`njc run --sandbox`: the flags that say what a program in a sandbox may do, and running it there."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from njc.commands.console import Console
from njc.commands.flags import CommandFunction
from njc.compiler import compile_source
from njc.project.build import read_source
from njc.project.config import Project
from njc.project.units import Unit
from njrt.errors import ConfigurationError
from njrt.options import Options, merge_option_layers, read_environment_options

_SANDBOX_FLAGS = (
    click.option(
        "--sandbox",
        is_flag=True,
        help="Run the whole program under bubblewrap, where it can do little.",
    ),
    click.option(
        "--work",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="The directory that a sandboxed program may write to; made if need be.",
    ),
    click.option(
        "--read",
        multiple=True,
        type=click.Path(path_type=Path, exists=True),
        metavar="PATH",
        help="What a sandboxed program may read of the home directory and /tmp.",
    ),
    click.option(
        "--env",
        multiple=True,
        metavar="NAME",
        help="A variable that a sandboxed program may see.",
    ),
)


def sandbox_flags(command: CommandFunction) -> CommandFunction:
    """Add the flags of the sandbox."""
    for option in reversed(_SANDBOX_FLAGS):
        command = option(command)
    return command


def is_sandbox_requested(boundary: Mapping[str, Any]) -> bool:
    """Whether the program is to run in a sandbox; the other flags mean nothing without it."""
    for name in ("work", "read", "env"):
        if boundary[name] and not boundary["sandbox"]:
            raise ConfigurationError(f"--{name} says what a sandbox allows; add --sandbox")
    return bool(boundary["sandbox"])


def run_in_sandbox(
    unit: Unit,
    arguments: Sequence[str],
    project: Project,
    console: Console,
    flags: Mapping[str, Any],
    boundary: Mapping[str, Any],
) -> int:
    """Run the program in a sandbox that reaches the models that its blocks ask; return the exit code."""
    from njc.sandbox.bubblewrap import (
        Sandbox,
        list_python_paths,
        list_servers,
        run_sandboxed,
        select_variables,
    )

    work = boundary["work"]
    if work is not None:
        work.mkdir(parents=True, exist_ok=True)
    servers = list_servers(_list_model_options(unit, project), os.environ)
    given = [path.absolute() for path in boundary["read"]]
    own = [path for path in (unit.root, unit.source, project.file) if path is not None]
    sandbox = Sandbox(
        readable=(*list_python_paths(), *own, *given, Path.cwd()),
        work=work.absolute() if work is not None else None,
        servers=servers,
        environ=select_variables(os.environ, servers, boundary["env"]),
        home=Path.home(),
        here=Path.cwd(),
    )
    program = [*_rebuild_flags(console, flags), unit.shown, *arguments]
    return run_sandboxed(sandbox, [sys.executable, "-m", "njc", "run", *program])


def _list_model_options(unit: Unit, project: Project) -> Iterator[Options]:
    """The options by which models may be chosen: those of the whole program, and those of each block."""
    outer = (read_environment_options(os.environ), project.options)
    yield merge_option_layers(*outer)
    for block in compile_source(read_source(unit), project=project.options).blocks:
        yield merge_option_layers(block.options, *outer)


def _rebuild_flags(console: Console, flags: Mapping[str, Any]) -> list[str]:
    """Write the flags of `njc run` once more, for the `njc run` inside."""
    again = [f"--set={setting}" for setting in flags["options"]]
    again += [f"--warnings={flags['warnings']}"] if flags["warnings"] else []
    again += (
        [f"--required-version={flags['required_version']}"] if flags["required_version"] else []
    )
    return again + ["-v"] * console.verbosity + ["-q"] * -console.verbosity
