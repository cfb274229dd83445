"""`njc debug prog.njpy ARGS`: step through natural code and back, by commands."""

from __future__ import annotations

import os
import queue
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from njc.commands.terminal.console import Console, ending_by_exception, require_stdin
from njc.commands.terminal.flags import PATH, parse_set_flags, refuse_options, with_console
from njc.commands.terminal.removed import refuse_removed_flag
from njc.debug.lines.predicted import PredictedSession, open_predictor, read_program
from njc.debug.lines.session import DebugSession
from njc.debug.lines.stop_report import clean_text
from njc.debug.lines.terminal import PROMPT, read_command, serve_lines
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
@click.option(
    "--predicted", metavar="MODULE[:FILE]", help="Predict the steps by a model; run nothing."
)
@click.option("--call", metavar="CALL", help="With --predicted: the call to start at.")
@click.option("--model", metavar="NAME", help="The model, as in NJC_MODEL.")
@click.option(
    "--set", "options", multiple=True, metavar="KEY=VALUE", help="Set an option of all blocks."
)
@with_console
def command(
    console: Console,
    program: Path | None,
    arguments: Sequence[str],
    predicted: str | None,
    call: str | None,
    **flags: Any,
) -> None:
    """Step through the effects of blocks, forward and back.

    Without --recording, NJC_RECORD names the recording, as in other runs.
    """
    refuse_removed_flag(program)
    require_stdin("commands are read from it")
    run_options = ("recording", "model", "options", "arguments")
    if predicted is not None:
        refuse_options("does nothing with --predicted, which runs nothing", *run_options)
        serve_predictions(predicted, program, call)
        return
    refuse_options("needs --predicted", "call")
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


def serve_predictions(predicted: str, program: Path | None, call: str | None) -> None:
    """Read commands line by line, and show a model's answers."""
    if program is None or call is None:
        raise ConfigurationError("--predicted needs a program and --call 'FUNCTION(ARGUMENTS)'")
    try:
        session = PredictedSession(open_predictor(predicted), program, read_program(program), call)
        shown = session.start()
    except (OSError, ValueError) as problem:
        raise ConfigurationError(f"{program}: {problem}") from None
    click.echo("\n".join(map(clean_text, shown)))
    while (line := read_command(PROMPT)) is not None and line.strip() not in ("q", "quit"):
        click.echo("\n".join(map(clean_text, session.do(line))))


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
