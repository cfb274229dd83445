"""Commands of the debug console, for what the protocol has no request for.

/reject name the reason too   the pending effect is not carried out; the model is answered these words
/edit total = 3         this is carried out instead: code, or outputs as `NAME = JSON`
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from njc.runs.timeline.controller import RunControlError, RunController
from njc.runs.timeline.effect_text import read_effect_text

HELP = """\
/reject WORDS   do not carry the effect out; the model is answered WORDS
/edit TEXT      carry out TEXT instead (\\n is a new line)
/abort [WORDS]  end the block with an error
/accept         carry the effect out after all
/live           ask a model from here on where nothing is recorded
/input TEXT     give the program a line of input
/eof            end the input of the program
NAME            evaluate an expression over the variables of the block"""


def run_console_command(run: RunController, line: str) -> str:
    """Carry out a command; return what to show.

    Raises:
        RunControlError: it is not a command, or cannot be carried out now.
    """
    name, _, words = line[1:].partition(" ")
    command = _COMMANDS.get(name)
    if command is None:
        raise RunControlError(f"there is no command `/{name}`; `/help` lists them")
    return command(run, words.strip())


def _reject(run: RunController, words: str) -> str:
    if not words:
        raise RunControlError("say what the model is answered: /reject WORDS")
    run.reject_effect(words)
    return "the effect will be refused"


def _edit(run: RunController, words: str) -> str:
    step = run.step
    if step is None or step.effect is None:
        raise RunControlError("no effect is pending here")
    run.edit_effect(read_effect_text(run.find_effect(step) or {}, words.replace("\\n", "\n")))
    return "the edited effect will be carried out"


def _abort(run: RunController, words: str) -> str:
    run.abort_effect(words)
    return "the block will be aborted"


def _accept(run: RunController, words: str) -> str:
    run.accept_effect()
    return "the effect will be carried out"


def _go_live(run: RunController, words: str) -> str:
    run.go_live()
    return "a model is asked where nothing is recorded"


def _give_input(run: RunController, words: str) -> str:
    run.send_input(words + "\n")
    return ""


def _close_input(run: RunController, words: str) -> str:
    run.close_input()
    return ""


_COMMANDS: Mapping[str, Callable[[RunController, str], str]] = {
    "reject": _reject,
    "edit": _edit,
    "abort": _abort,
    "accept": _accept,
    "live": _go_live,
    "input": _give_input,
    "eof": _close_input,
    "help": lambda run, words: HELP,
}
