"""The debugger in a terminal: commands from standard input, results to standard output.

    (njc) c
    > citations.njpy:10, step 1: before Run, turn 1, 418 tokens in, 32 out
        1    cited_by[14].add(3)

Commands are echoed unless they come from a terminal. The end of the input ends the program.
"""

from __future__ import annotations

import io
import queue
import sys
from contextlib import suppress

from njc.debug.lines.commands import Moved, QuitWanted, Said, run_command
from njc.debug.lines.session import DebugSession
from njc.debug.lines.stop_report import clean_text
from njc.debug.timeline.channel import ChannelClosedError
from njc.debug.timeline.happenings import Happening, ProgramEnded, Stopped
from njrt.errors import NaturalError

with suppress(ImportError):  # as pdb: `input` recalls earlier lines by its keys
    import readline  # noqa: F401

PROMPT = "(njc) "


def serve_lines(session: DebugSession, happenings: queue.SimpleQueue[Happening]) -> None:
    """Read commands and show their results, until the user quits."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")
    show_happenings(session, happenings)
    while (line := read_command(PROMPT)) is not None:
        try:
            result = run_command(session, line)
        except (NaturalError, ChannelClosedError) as error:
            say(f"error: {error}")
            continue
        match result:
            case Said(lines=lines):
                say(*lines)
            case Moved():
                show_happenings(session, happenings)
            case QuitWanted():
                return
            case _:
                raise AssertionError(result)


def show_happenings(session: DebugSession, happenings: queue.SimpleQueue[Happening]) -> None:
    """Show what happens until the program stops or ends."""
    while True:
        try:
            happening = happenings.get()
        except KeyboardInterrupt:
            say("", "the program is to stop at its next step; it may wait for a model")
            session.run.pause()
            continue
        say(*session.take(happening))
        if isinstance(happening, Stopped | ProgramEnded):
            return


def say(*lines: str) -> None:
    """Print lines at once."""
    for line in lines:
        print(line)
    sys.stdout.flush()


def read_command(prompt: str) -> str | None:
    """Read a line, echoing it unless it is from a terminal; None at the end of the input."""
    try:
        if sys.stdin.isatty():
            return input(prompt)
        line = sys.stdin.readline()
    except EOFError:
        return None
    except KeyboardInterrupt:
        print("\n`q` ends the debugger", flush=True)
        return ""
    if not line:
        return None
    print(prompt + clean_text(line.rstrip("\r\n")), flush=True)
    return line.rstrip("\r\n")
