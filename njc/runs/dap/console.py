"""Commands of the debug console, for what the protocol has no request for, as the debugger for terminals has them.

/reject name the reason too   the pending effect is not carried out; the model is answered these words
/edit total = 3         this is carried out instead: code, or outputs as `NAME = JSON`
"""

from __future__ import annotations

from njc.runs.debug.commands import COMMANDS, format_command, run_command
from njc.runs.debug.session import DebugSession, EditWanted, Said
from njc.runs.timeline.controller import RunControlError, RunController

_NAMES = ("reject", "edit", "abort", "accept", "live", "input", "eof")
HELP = (
    "\n".join(f"/{format_command(COMMANDS[name])}" for name in _NAMES)
    + """
NAME                       evaluate an expression over the variables of the block
In TEXT, \\n is a new line; `/edit` alone shows the text."""
)


def run_console_command(run: RunController, line: str) -> str:
    """Carry out a command; return what to show.

    Raises:
        RunControlError: it is not a command, or cannot be carried out now.
    """
    name, _, words = line[1:].partition(" ")
    if name == "help":
        return HELP
    if name not in _NAMES:
        raise RunControlError(f"there is no command `/{name}`; `/help` lists them")
    words = words.replace("\\n", "\n") if name == "edit" else words
    match run_command(DebugSession(run, ()), f"{name} {words}"):
        case Said(lines=lines):
            return "\n".join(lines)
        case EditWanted(text=text):
            return text
        case _:
            return ""
