"""`spsbench states`: the states of an executed program, in one of two forms.

spsbench states prog.py                            run the program; its states as JSON Lines
spsbench states prog.py --call "find([3, 1], 1)"   only the code that this call runs
spsbench states prog.py --form tokens              the tokens of Code World Model
spsbench states prog.py --actions                  also write a debugger's steps between them
"""

from __future__ import annotations

import sys
import tokenize
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spsbench import flags

if TYPE_CHECKING:
    from spsbench.states.trace import StateTrace


@click.command("states", context_settings={"ignore_unknown_options": True})
@click.argument("file", type=flags.EXISTING_FILE)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--call", metavar="EXPRESSION", help="Record this call, not the whole program.")
@flags.value(
    "--form", "json", "JSON Lines, or the tokens of CWM.", click.Choice(["json", "tokens"])
)
@click.option("--actions", is_flag=True, help="Add the steps of a debugger between the states.")
@click.option("--out", type=flags.FILE, help="Output file (default: standard output).")
@flags.value("--max-states", 10_000, "End the program after this many states.")
def command(
    file: Path,
    arguments: tuple[str, ...],
    call: str | None,
    form: str,
    actions: bool,
    out: Path | None,
    max_states: int,
) -> None:
    """Write the states of an execution.

    FILE is a Python program, which is run with ARGUMENTS and with all rights of this process. A
    program that is interrupted keeps its states.
    """
    from spsbench.journal import naming
    from spsbench.states.actions import list_taken_steps
    from spsbench.states.tokens import write_tokens
    from spsbench.states.trace import write_state_lines
    from spsbench.states.trajectories import Trajectory, write_trajectory_lines

    if actions and form != "json":
        raise click.UsageError("--actions writes JSON Lines; leave --form out")
    if call is not None:
        check_expression(call)
    if file.suffix != ".py":
        raise click.UsageError(f"{file} is not named as a Python program, `*.py`")
    trace = run_program(file, arguments, call, max_states)
    if actions:
        steps = tuple(list_taken_steps(trace.states, is_cut=trace.is_cut))
        text = "".join(write_trajectory_lines([Trajectory(trace, steps)]))
    elif form == "json":
        text = "".join(write_state_lines([trace]))
    else:
        with naming(file):
            text = f"{write_tokens(trace)}\n"
    if out is None:
        click.echo(text, nl=False)
    else:
        out.write_text(text, encoding="utf-8", newline="\n")
        click.echo(f"{out}: {len(trace.states):,} states", err=True)


def check_expression(call: str) -> None:
    """Raise UsageError if the text of --call is not an expression."""
    try:
        compile(call.strip(), "<call>", "eval", dont_inherit=True)
    except (SyntaxError, ValueError) as problem:
        raise click.UsageError(f"--call {call!r} is not an expression: {problem}") from None


def run_program(
    file: Path, arguments: tuple[str, ...], call: str | None, max_states: int
) -> StateTrace:
    """Run a program and record its states; the program's output goes to standard error."""
    from spsbench.results import InputError
    from spsbench.states.programs import record_call, record_program
    from spsbench.states.recording import StateLimitError

    try:
        with tokenize.open(file) as opened:
            source = opened.read()
        with redirect_stdout(sys.stderr):
            if call is None:
                found = record_program(source, str(file), [str(file), *arguments], max_states)
            else:
                found = record_call(source, call, str(file), max_states)
    except (SyntaxError, UnicodeDecodeError) as problem:
        raise InputError(f"{file} cannot be compiled: {problem}") from None
    except (Exception, SystemExit) as error:
        raise click.ClickException(
            f"{file} raised {type(error).__name__} before the call: {error}"
        ) from None
    count, raised = len(found.trace.states), found.error
    if isinstance(raised, StateLimitError):
        click.echo(f"ended after the first {count:,} states; see --max-states", err=True)
    elif raised is not None and not isinstance(raised, SystemExit):
        click.echo(f"the program raised {type(raised).__name__}: {raised}", err=True)
    elif found.trace.is_cut:
        click.echo(
            f"the states end after {count:,}: the program came near the limit of recursion, set its"
            " own trace function, or handled a signal",
            err=True,
        )
    return found.trace
