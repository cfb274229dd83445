"""`njc debug prog.njpy ARGS`: step through natural code and back, by commands."""

from __future__ import annotations

import os
import queue
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from njc.commands.terminal.console import Console, ending_by_exception, require_stdin
from njc.commands.terminal.flags import PATH, parse_set_flags, with_console
from njc.commands.terminal.removed import refuse_removed_flag
from njc.debug.lines.session import DebugSession
from njc.debug.lines.terminal import serve_lines
from njc.debug.timeline.debuggee import load_program
from njc.debug.timeline.happenings import RunSettings, choose_recording
from njc.debug.timeline.run_controller import RunController
from njc.project.build import NaturalSyntaxError
from njc.project.units import read_file
from njrt.data.options import OPTION_NAMES
from njrt.errors import ConfigurationError


@click.command(
    "debug", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.argument("program", required=False, metavar="[FILE]", type=PATH)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--recording", type=PATH, metavar="FILE", help="Replay this recording; it stays as it is."
)
@click.option("--model", metavar="NAME", help="The model, as in NJC_MODEL.")
@click.option(
    "--set", "options", multiple=True, metavar="KEY=VALUE", help="Set an option of all blocks."
)
@with_console
def command(
    console: Console,
    program: Path | None,
    arguments: Sequence[str],
    **flags: Any,
) -> None:
    """Step through the effects of blocks, forward and back.

    Without --recording, NJC_RECORD names the recording, as in other runs.
    """
    refuse_removed_flag(program)
    require_stdin("commands are read from it")
    click.get_current_context().with_resource(ending_by_exception())
    happenings: queue.SimpleQueue[Any] = queue.SimpleQueue()
    if program is None:
        raise ConfigurationError("name a program: njc debug FILE; `njc trace FILE` shows a trace")
    check_program(program)
    run = RunController(choose_settings(program, arguments, **flags), happenings.put)
    session = DebugSession(run)
    try:
        run.start()
        serve_lines(session, happenings)
    finally:
        run.close()


def choose_settings(
    program: Path,
    arguments: Sequence[str],
    recording: Path | None,
    model: str | None,
    options: Sequence[str],
) -> RunSettings:
    """Return the settings of a run; raises ConfigurationError if its recording is missing."""
    if not (is_replayed := recording is not None):
        recording, is_replayed = choose_recording(os.environ.get("NJC_RECORD", ""), program)
    if recording is not None and is_replayed and not recording.is_file():
        raise ConfigurationError(f"there is no recording {recording}")
    parsed = parse_set_flags(options)
    given = {name: getattr(parsed, name) for name in OPTION_NAMES}
    values = {name: value for name, value in given.items() if value is not None}
    return RunSettings(program, tuple(arguments), model, recording, is_replayed, values)


def check_program(program: Path) -> None:
    """Raise NaturalSyntaxError if a program cannot compile, ConfigurationError if it is missing."""
    if program.is_dir():
        raise ConfigurationError(f"{program} is a directory; name the program, such as main.njpy")
    read_file(program)
    try:
        load_program(program)
    except NaturalSyntaxError:
        raise
    except (SyntaxError, ValueError) as error:
        raise ConfigurationError(f"{program} is not a program: {error}") from None
