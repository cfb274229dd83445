"""The debugger's commands, for terminals and for the console of editors.

    run_command(session, "b variable total")     Said(("breakpoint 1: variable total",))
    run_command(session, "c")                    Moved(): the program runs; wait until it stops

An impossible command raises `RunControlError`, with a one-line message.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable

from njc.compiler.frontend.prompt_references import NAME
from njc.debug.lines.session import DebugSession, number_lines
from njc.debug.lines.stop_report import (
    MARKS,
    StopReport,
    clean_text,
    describe_stop,
    make_stop_report,
    summarize_step,
)
from njc.debug.timeline.breakpoints import (
    BREAKPOINT_FORMS,
    find_source,
    parse_breakpoint,
    read_number,
)
from njc.debug.timeline.channel import RunControlError
from njc.debug.timeline.effect_text import read_effect_text
from njc.debug.timeline.run_controller import RunController
from njc.debug.timeline.steps import Step
from njrt.data.records import record

LISTED_LINES = 6


@record
class Said:
    """The command has finished; show these lines."""

    lines: tuple[str, ...] = ()


@record
class Moved:
    """The run is moving, forward or back; it reports its next stop."""


@record
class QuitWanted:
    """End the debugger."""


CommandResult = Said | Moved | QuitWanted
Serve = Callable[[DebugSession, str], CommandResult]


@record
class DebugCommand:
    """A command: its name, its arguments and description for the help, and its function."""

    name: str
    arguments: str
    help: str
    serve: Serve
    is_repeated: bool = False
    """Whether an empty line repeats the command."""

    def __str__(self) -> str:
        return f"{f'{self.name} {self.arguments}':<25} {self.help}"


def run_command(session: DebugSession, line: str) -> CommandResult:
    """Run a command line; an empty one repeats the last movement."""
    line = line.strip() or session.last_command
    name, _, words = line.partition(" ")
    if not name:
        return Said()
    command = find_command(name)
    words = words.strip()
    if words and not command.arguments:
        raise RunControlError(f"`{name}` takes no arguments; leave `{words}` out")
    if not words and command.arguments and not command.arguments.startswith("["):
        raise RunControlError(f"write `{name} {command.arguments}`: {command.help}")
    session.last_command = line if command.is_repeated else ""
    return command.serve(session, words)


def get_step(session: DebugSession) -> Step:
    """Return the step before which the run is stopped; raises RunControlError if it is not."""
    step = session.run.step if session.run.state == "stopped" else None
    if step is None:
        way = "; `N` goes back" if session.run.state == "ended" else ""
        raise RunControlError(f"the program is not stopped: it is {session.run.state}{way}")
    return step


def get_report(session: DebugSession) -> StopReport:
    """Return a report of the stop; raises RunControlError if the run is not stopped."""
    get_step(session)
    report = make_stop_report(session.run)
    assert report is not None, "there is a step"
    return report


def get_effect(session: DebugSession) -> Step:
    """Return the step if it is a pending effect; otherwise raises RunControlError."""
    step = get_step(session)
    if step.kind != "effect" or step.effect is None:
        raise RunControlError("no effect is pending here; step on to the next one")
    return step


# ── moving ───────────────────────────────────────────────────────────────────────────────────────


def move(movement: Callable[[RunController], None], back: bool = False) -> Serve:
    """Return a command that moves the run."""

    def serve(session: DebugSession, words: str) -> CommandResult:
        if session.run.state == "ended" and not back:
            raise RunControlError("the program has ended; `N` goes back, `restart` starts it")
        movement(session.run)
        return Moved()

    return serve


def go_to(session: DebugSession, words: str) -> CommandResult:
    """Go back to a step."""
    if (number := read_number(words)) is None:
        raise RunControlError(f"`goto {words}`: write the number of a step, such as goto 12")
    session.run.go_back_to(number)
    return Moved()


# ── showing ──────────────────────────────────────────────────────────────────────────────────────


def list_source(session: DebugSession, words: str) -> CommandResult:
    """Return the source around the prompt."""
    source = get_report(session).source
    lines = []
    for number, text in enumerate(source.lines, 1):
        if source.first - LISTED_LINES <= number <= source.last + LISTED_LINES:
            mark = "->" if number == source.current else "  "
            bar = "|" if source.first <= number <= source.last else " "
            lines.append(f"{number:>5} {mark} {bar} {text}".rstrip())
    return Said(tuple(lines))


def show_effect(session: DebugSession, words: str) -> CommandResult:
    """Return the pending effect with line numbers."""
    report = get_report(session)
    if report.step.effect is None:
        raise RunControlError("no effect is pending here; step on to the next one")
    return Said(tuple(number_lines(report.effect)))


def show_variables(session: DebugSession, words: str) -> CommandResult:
    """Return all variables, with the last step's changes."""
    rows = get_report(session).variables
    return Said(tuple(f"  {MARKS[row.mark]} {row}" for row in rows))


def evaluate(session: DebugSession, words: str) -> CommandResult:
    """Return the value of an expression."""
    get_step(session)
    return Said((clean_text(session.run.evaluate(words).text),))


def show_turn(session: DebugSession, words: str) -> CommandResult:
    """Return the messages to the model in this turn, and its reply."""
    shown = get_report(session).shown
    if not shown:
        raise RunControlError("the model has not been asked here yet; `s` continues to its effect")
    return Said(tuple(f"    {line}".rstrip() for line in shown.splitlines()))


def show_stack(session: DebugSession, words: str) -> CommandResult:
    """Return the block and its callers."""
    step: Step | None = get_step(session)
    lines = []
    while step is not None:
        lines.append(f"    {describe_stop(step)}")
        earlier = reversed(session.run.timeline[: step.number])
        calls = (it for it in earlier if it.run == step.parent and it.kind == "effect")
        step = next(calls, None)
    return Said(tuple(lines))


def list_steps(session: DebugSession, words: str) -> CommandResult:
    """Return all known steps."""
    run = session.run
    lines = []
    for step in run.timeline:
        mark = "->" if step.number == run.position and run.state == "stopped" else "  "
        place = f"{'  ' * step.depth}{step.place}"
        lines.append(f"{step.number:>5} {mark} {place}  {summarize_step(step)}")
    return Said(tuple(lines))


# ── breakpoints ──────────────────────────────────────────────────────────────────────────────────


def add_breakpoint(session: DebugSession, words: str) -> CommandResult:
    """Set a breakpoint, or list all breakpoints."""
    run = session.run
    if not words:
        texts = enumerate(map(str, run.breakpoints), 1)
        lines = tuple(f"    {number}  {text}" for number, text in texts)
        return Said(lines or (f"no breakpoints; b {BREAKPOINT_FORMS}",))
    place, separator, condition = words.partition(" if ")
    if place.strip().isdecimal():
        step = session.run.step
        file = step.place.rpartition(":")[0] if step is not None else ""
        if step is not None and step.file:  # another file may have the same name
            found = find_source(step.place, run.folders)
            file = file if found is not None and found.samefile(step.file) else step.file
        words = f"block {file}:{place.strip()}{separator}{condition}"
    elif ":" in place and " " not in place.strip():
        words = f"block {words}"
    try:
        breakpoint = parse_breakpoint(words)
    except ValueError as error:
        raise RunControlError(str(error)) from None
    *_, breakpoint = run.set_breakpoints((*run.breakpoints, breakpoint))
    text = f"breakpoint {len(run.breakpoints)}: {breakpoint}"
    return Said((text, f"note: {breakpoint.note}") if breakpoint.note else (text,))


def clear_breakpoints(session: DebugSession, words: str) -> CommandResult:
    """Remove one breakpoint by its number, or all breakpoints."""
    run = session.run
    if not words:
        run.set_breakpoints(())
        return Said(("no breakpoints",))
    number = read_number(words) or 0
    if not 1 <= number <= len(run.breakpoints):
        raise RunControlError(f"there is no breakpoint `{words}`; `b` lists them")
    kept = list(run.breakpoints)
    removed = kept.pop(number - 1)
    run.set_breakpoints(tuple(kept))
    return Said((f"removed: {removed}",))


# ── changing ─────────────────────────────────────────────────────────────────────────────────────

_SETTING = re.compile(rf"({NAME}|\w+)\s*=(?!=)\s*(.+)", re.DOTALL)


def set_variable(session: DebugSession, words: str) -> CommandResult:
    """Bind a variable to the value of an expression."""
    match = _SETTING.fullmatch(words)
    if match is None:
        raise RunControlError("write what to set: set NAME = EXPRESSION")
    get_step(session)
    variable = session.run.set_variable(match[1], match[2])
    return Said((f"{match[1]}: {clean_text(variable.text)}",))


def edit(session: DebugSession, words: str) -> CommandResult:
    """Replace the pending effect with the effect in `words`, where `\\n` is a new line."""
    effect = get_effect(session).effect or {}
    session.run.edit_effect(read_effect_text(effect, words.replace("\\n", "\n")))
    return Said(("the edited effect will be performed",))


def decide(act: Callable[[RunController, str], None], said: str) -> Serve:
    """Return a command that decides on the pending effect."""

    def serve(session: DebugSession, words: str) -> CommandResult:
        get_effect(session)
        act(session.run, words)
        return Said((said,))

    return serve


def go_live(session: DebugSession, words: str) -> CommandResult:
    """Ask a model for unrecorded replies from here on."""
    get_step(session)
    session.run.go_live()
    return Said(("a model is asked from here on where nothing is recorded",))


# ── the debugger itself ─────────────────────────────────────────────────────


def show_help(session: DebugSession, words: str) -> CommandResult:
    """Return a line for each command, and the forms of breakpoints."""
    forms = textwrap.wrap(
        f"breakpoints: {BREAKPOINT_FORMS}", 72, break_on_hyphens=False, subsequent_indent="    "
    )
    return Said(tuple(f"    {line}".rstrip() for line in (*map(str, COMMANDS), "", *forms)))


def find_command(name: str) -> DebugCommand:
    """Return a command; raises RunControlError if there is none of this name."""
    for command in COMMANDS:
        if command.name == name:
            return command
    raise RunControlError(f"there is no command `{name}`; `h` lists them")


_into, _over, _out, _on = map(
    move,
    (
        RunController.step_into,
        RunController.step_over,
        RunController.step_out,
        RunController.run_on,
    ),
)
_back_into = move(RunController.step_back_into, back=True)
_back_over = move(RunController.step_back_over, back=True)
_back_out = move(RunController.step_back_out, back=True)
_run_back = move(RunController.run_back, back=True)
_restart = move(RunController.restart, back=True)
_reject = decide(RunController.reject_effect, "the effect will be refused")
_abort = decide(RunController.abort_effect, "the block will end with an error")

COMMANDS = (
    DebugCommand("s", "", "the next step, into called blocks", _into, True),
    DebugCommand("n", "", "the next step of this block", _over, True),
    DebugCommand("r", "", "the exit of this block", _out, True),
    DebugCommand("c", "", "the next breakpoint, or the end", _on, True),
    DebugCommand("S", "", "back one step, into called blocks", _back_into, True),
    DebugCommand("N", "", "back one step of this block", _back_over, True),
    DebugCommand("R", "", "back to the entry of this block", _back_out, True),
    DebugCommand("C", "", "back to the breakpoint before, or the start", _run_back, True),
    DebugCommand("goto", "STEP", "back to a step", go_to),
    DebugCommand("restart", "", "from the start, without changes", _restart),
    DebugCommand("l", "", "the prompt, the source around", list_source),
    DebugCommand("e", "", "the effect", show_effect),
    DebugCommand("v", "", "the variables; + new, * changed, - gone", show_variables),
    DebugCommand("p", "EXPRESSION", "its value", evaluate),
    DebugCommand("m", "", "the messages to the model, and its reply", show_turn),
    DebugCommand("w", "", "the block and those around it", show_stack),
    DebugCommand("t", "", "all steps so far", list_steps),
    DebugCommand("b", "[BREAKPOINT]", "set a breakpoint; list them", add_breakpoint),
    DebugCommand("cl", "[NUMBER]", "remove a breakpoint, or all", clear_breakpoints),
    DebugCommand("set", "NAME = EXPRESSION", "change a variable", set_variable),
    DebugCommand("edit", "TEXT", "change the effect; `\\n` is a new line", edit),
    DebugCommand("reject", "WORDS", "refuse the effect; the model is answered WORDS", _reject),
    DebugCommand("abort", "[WORDS]", "end the block with an error", _abort),
    DebugCommand("live", "", "ask a model where nothing is recorded", go_live),
    DebugCommand("h", "", "this list", show_help),
    DebugCommand("q", "", "end the program and the debugger", lambda _, words: QuitWanted()),
)
