"""The debugger's commands, shared by the full-screen and the line-based interface.

    run_command(session, "b variable total")     Said(("breakpoint 1: variable total",))
    run_command(session, "c")                    Moved(): the program runs; wait until it stops
    run_command(session, "edit")                 EditWanted("total = 3"): let the user write, then `edit_effect`

A `DebugSession` holds the run, its output and its stops. An impossible command raises `RunControlError`, with a
one-line message.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from njc.frontend.prompt_references import NAME
from njc.runs.debug.stop_report import (
    MARKS,
    StopReport,
    clean_text,
    describe_stop,
    find_decision,
    list_source_rows,
    make_stop_report,
    summarize_step,
)
from njc.runs.timeline.breakpoints import (
    BREAKPOINT_FORMS,
    find_source,
    parse_breakpoint,
    read_number,
)
from njc.runs.timeline.channel import RunControlError
from njc.runs.timeline.effect_text import format_effect, read_effect_text
from njc.runs.timeline.run_controller import RunController
from njc.runs.timeline.steps import Position, Step, Variables
from njrt.records import record

_PATH = re.compile(rf"""\.{NAME}|\[(?:[^\]'"]|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")*\]|\[[^\]]*\]""")
"""A part of a path: an attribute, or a key with its quotes (without the closing quote if it was shortened)."""
LISTED_LINES = 6


BEFORE_ALL = Position(-1)


@record
class Said:
    """The command has finished; show these lines."""

    lines: tuple[str, ...] = ()


@record
class Moved:
    """The run is moving, forward or back; it reports its next stop."""


@record
class EditWanted:
    """Let the user edit a text, then call `edit_effect`."""

    text: str


@record
class QuitWanted:
    """End the debugger."""


CommandResult = Said | Moved | EditWanted | QuitWanted
Serve = Callable[["DebugSession", str], CommandResult]


@dataclass(slots=True)
class DebugSession:
    """A run in the debugger, with its output, its stops and the last command."""

    run: RunController
    outputs: list[tuple[Position, str]] = field(default_factory=list)
    """The program's output, each text with the stop that precedes it."""
    last_stop: Position = BEFORE_ALL
    last_command: str = ""
    seen: dict[Position, Variables] = field(default_factory=dict)
    """The variables at the stops so far, with the user's changes."""

    @property
    def printed(self) -> str:
        """The program's output up to here."""
        return "".join(text for _, text in self.outputs)

    def add_output(self, text: str) -> None:
        self.outputs.append((self.last_stop, text))

    def make_report(self) -> StopReport | None:
        """Return a report of the stop; output written after it is forgotten."""
        here = self.last_stop = self.run.position
        self.outputs = [(stop, text) for stop, text in self.outputs if stop < here]
        return make_stop_report(self.run, self.seen)


def get_step(session: DebugSession) -> Step:
    """Return the step that the run is stopped before; raises RunControlError if it is not stopped."""
    step = session.run.step if session.run.state == "stopped" else None
    if step is None:
        way = "; `back` goes back" if session.run.state == "ended" else ""
        raise RunControlError(f"the program is not stopped: it is {session.run.state}{way}")
    return step


def get_report(session: DebugSession) -> StopReport:
    """Return a report of the stop; raises RunControlError if the run is not stopped."""
    get_step(session)
    report = session.make_report()
    assert report is not None, "there is a step"
    return report


def get_effect(session: DebugSession) -> Step:
    """Return the step if it is a pending effect; otherwise raises RunControlError."""
    step = get_step(session)
    if step.kind != "effect" or step.effect is None:
        raise RunControlError("no effect is pending here; step on to the next one")
    return step


# ── showing ──────────────────────────────────────────────────────────────────────────────────────


def list_source(session: DebugSession, words: str) -> CommandResult:
    """Return the source around the prompt or, with `all`, the whole source."""
    rows = list(list_source_rows(session.run.timeline, get_step(session), session.run.folders))
    shown = [index for index, row in enumerate(rows) if row.kind != "code"] or [0]
    first, last = max(0, shown[0] - LISTED_LINES), shown[-1] + LISTED_LINES + 1
    lines = []
    if words not in ("", "all"):
        raise RunControlError(f"`l {words}`: write l, or l all")
    for row in rows if words else rows[first:last]:
        mark = "->" if row.is_current else "  "
        number = str(row.number) if row.number else ""
        bar = {"code": " ", "prompt": "|", "step": "*"}[row.kind]
        lines.append(f"{number:>5} {mark} {bar} {row.text}".rstrip())
    return Said(tuple(lines))


def show_effect(session: DebugSession, words: str) -> CommandResult:
    """Return the pending effect with line numbers."""
    report = get_report(session)
    if report.step.effect is None:
        raise RunControlError("no effect is pending here; step on to the next one")
    return Said(tuple(number_lines(report.effect, report.step.code_line)))


def number_lines(text: str, current: int = 0) -> list[str]:
    """Return the lines of code with numbers, and a mark at the current line."""
    return [
        f"{number:>5} {'->' if number == current else '  '} {line}".rstrip()
        for number, line in enumerate(text.splitlines(), 1)
    ]


def show_variables(session: DebugSession, words: str) -> CommandResult:
    """Return all variables, with the last step's changes."""
    rows = get_report(session).variables
    return Said(tuple(f"  {MARKS[row.mark]} {row}" for row in rows))


def evaluate(session: DebugSession, words: str) -> CommandResult:
    """Return the value of an expression."""
    get_step(session)
    return Said((clean_text(session.run.evaluate(words).text),))


def expand(session: DebugSession, words: str) -> CommandResult:
    """Return the parts of a variable."""
    root = _PATH.sub("", words)
    if not root.isidentifier():
        raise RunControlError("name a variable: x VARIABLE, or x VARIABLE.part[0]")
    get_step(session)
    parts = session.run.expand(root, *_PATH.findall(words))
    lines = tuple(f"    {part.name}: {clean_text(part.text)}" for part in parts)
    return Said(lines or ("    no parts",))


def show_turn(session: DebugSession, words: str) -> CommandResult:
    """Return the messages to the model in this turn, and its reply."""
    shown = get_report(session).shown
    if not shown:
        raise RunControlError("the model has not been asked here yet; `s` continues to its effect")
    return Said(tuple(f"    {line}".rstrip() for line in shown.splitlines()))


def show_output(session: DebugSession, words: str) -> CommandResult:
    """Return the output of the program."""
    lines = clean_text(session.printed.rstrip("\n")).splitlines()
    return Said(tuple(f"| {line}".rstrip() for line in lines) or ("nothing was printed yet",))


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
        mark = "->" if step.number == run.position.number and run.state == "stopped" else "  "
        place = f"{'  ' * step.depth}{step.place}"
        lines.append(f"{step.number:>5} {mark} {place}  {summarize_step(step)}")
    return Said(tuple(lines))


_SETTING = re.compile(rf"({NAME}|\w+)\s*=(?!=)\s*(.+)", re.DOTALL)


@record
class DebugCommand:
    """A command: its names (the shortest first), its arguments and description for the help, and its function."""

    names: tuple[str, ...]
    arguments: str
    help: str
    serve: Serve
    is_repeated: bool = False
    """Whether an empty line repeats the command."""

    def __str__(self) -> str:
        names = f"{', '.join(self.names)} {self.arguments}".strip()
        return f"{names:<25} {self.help}"


def run_command(session: DebugSession, line: str) -> CommandResult:
    """Run a command line; an empty one repeats the last movement."""
    line = line.strip() or session.last_command
    name, _, words = line.partition(" ")
    if not name:
        return Said()
    command = COMMANDS.get(name)
    if command is None:
        raise RunControlError(f"there is no command `{name}`; `h` lists them")
    words = words.strip()
    if words and not command.arguments:
        raise RunControlError(f"`{name}` takes no arguments; leave `{words}` out")
    if not words and command.arguments and not command.arguments.startswith("["):
        raise RunControlError(f"write `{name} {command.arguments}`: {command.help}")
    session.last_command = line if command.is_repeated else ""
    return command.serve(session, words)


def edit_effect(session: DebugSession, text: str) -> Said:
    """Replace the pending effect with the effect in `text`."""
    step = get_effect(session)
    session.run.edit_effect(read_effect_text(step.effect or {}, text))
    return Said(("the edited effect will be performed",))


# ── moving ───────────────────────────────────────────────────────────────────────────────────────


def move(movement: str) -> Serve:
    """Return a command that moves the run by the method of this name."""

    def serve(session: DebugSession, words: str) -> CommandResult:
        if session.run.state == "ended" and "back" not in movement:
            raise RunControlError("the program has ended; `back` goes back, `restart` starts it")
        getattr(session.run, movement)()
        return Moved()

    return serve


def go_back(session: DebugSession, words: str) -> CommandResult:
    """Go back one step in the block, or `into` calls, `out` of the block, or `run` back to a breakpoint."""
    ways = {"": "N", "over": "N", "into": "S", "out": "R", "run": "C"}
    if words not in ways:
        raise RunControlError(f"`back {words}`: write back, back into, back out or back run")
    return COMMANDS[ways[words]].serve(session, "")


def go_to(session: DebugSession, words: str) -> CommandResult:
    """Go to a step, forward or back."""
    number, line = map(read_number, words.partition(".")[::2])
    if number is None or (line is None and "." in words):
        raise RunControlError(f"`goto {words}`: write the number of a step, such as goto 12")
    session.run.run_to(Position(number, line or 0))
    return Moved()


def restart(session: DebugSession, words: str) -> CommandResult:
    """Restart the program, without the user's changes."""
    session.outputs, session.last_stop = [], BEFORE_ALL
    session.run.restart()
    return Moved()


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
        words = f"line {file}:{place.strip()}{separator}{condition}"
    elif ":" in place and " " not in place.strip():
        words = f"line {words}"
    try:
        breakpoint = parse_breakpoint(words)
    except ValueError as error:
        raise RunControlError(str(error)) from None
    *_, breakpoint = run.set_breakpoints((*run.breakpoints, breakpoint))
    text = f"breakpoint {len(run.breakpoints)}: {breakpoint}"
    note = breakpoint.explain_missing_file(run.folders)
    return Said((text, f"note: {note}") if note else (text,))


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


def set_variable(session: DebugSession, words: str) -> CommandResult:
    """Bind a variable to the value of an expression."""
    match = _SETTING.fullmatch(words)
    if match is None:
        raise RunControlError("write what to set: set NAME = EXPRESSION")
    get_step(session)
    variable = session.run.set_variable(match[1], match[2])
    session.make_report()  # so that the variables at this stop include this one
    return Said((f"{match[1]}: {clean_text(variable.text)}",))


def edit(session: DebugSession, words: str) -> CommandResult:
    """Change the pending effect to `words`, or in an editor if there are no words."""
    step = get_effect(session)
    effect = find_decision(session.run).get("effect", step.effect) or {}
    return edit_effect(session, words) if words else EditWanted(format_effect(effect))


def decide(act: Callable[[RunController, str], None], said: str) -> Serve:
    """Return a command that decides on the pending effect."""

    def serve(session: DebugSession, words: str) -> CommandResult:
        get_effect(session)
        act(session.run, words)
        return Said((said,))

    return serve


def show_fork(session: DebugSession, words: str) -> CommandResult:
    """List the changes that make this run differ from the original one."""
    lines = []
    for change in session.run.edits:
        where, fields = f"    at step {change.position}: ", change.fields
        if change.kind == "set":
            lines.append(f"{where}set {fields['name']} = {fields['expression']}")
        else:
            text = format_effect(fields["effect"]) if "effect" in fields else fields.get("words")
            shown = clean_text(text or "").replace("\n", "\n" + " " * 8)
            lines += f"{where}{fields['decision']} {shown}".rstrip().split("\n")
    return Said(tuple(lines) or ("nothing was changed; set, edit, reject and abort make a fork",))


def go_live(session: DebugSession, words: str) -> CommandResult:
    """Ask a model for unrecorded replies from here on."""
    get_step(session)
    session.run.go_live()
    return Said(("a model is asked from here on where nothing is recorded",))


def save_recording(session: DebugSession, words: str) -> CommandResult:
    """Write the recording of the run to a file."""
    try:
        session.run.save_recording(Path(words))
    except OSError as error:
        raise RunControlError(f"{words}: {error.strerror or error}") from None
    return Said((f"the recording of this run is in {words}",))


# ── the program's input, the debugger itself ─────────────────────────────────────────────────────


def feed(give: Callable[[RunController, str], None]) -> Serve:
    """Return a command that gives the program input; a program that waits for it continues."""

    def serve(session: DebugSession, words: str) -> CommandResult:
        is_waiting = session.run.state == "running"
        give(session.run, words)
        return Moved() if is_waiting else Said()

    return serve


def show_help(session: DebugSession, words: str) -> CommandResult:
    """Return the help for all commands, or for one."""
    if words and words not in COMMANDS:
        raise RunControlError(f"there is no command `{words}`; `h` lists them")
    return Said(tuple(format_help([COMMANDS[words]] if words else COMMAND_LIST)))


def format_help(commands: Iterable[DebugCommand]) -> list[str]:
    """Return a line for each command, and the forms of breakpoints."""
    forms = textwrap.wrap(
        f"breakpoints: {BREAKPOINT_FORMS}", 72, break_on_hyphens=False, subsequent_indent="    "
    )
    return [f"    {line}".rstrip() for line in (*map(str, commands), "", *forms)]


COMMAND_LIST = (
    DebugCommand(("s", "step"), "", "the next step: of a called block, a line of code", move("step_into"), True),
    DebugCommand(("n", "next"), "", "the next step of this block", move("step_over"), True),
    DebugCommand(("r", "return"), "", "the exit of this block", move("step_out"), True),
    DebugCommand(("c", "continue"), "", "the next breakpoint, or the end", move("run_on"), True),
    DebugCommand(("S", "<s"), "", "back one step", move("step_back_into"), True),
    DebugCommand(("N", "<n"), "", "back one step of this block", move("step_back_over"), True),
    DebugCommand(("R", "<r"), "", "back to the entry of this block", move("step_back_out"), True),
    DebugCommand(("C", "<c"), "", "back to the breakpoint before, or the start", move("run_back"), True),
    DebugCommand(("back",), "[into|out|run]", "as N; as S, R or C", go_back, True),
    DebugCommand(("goto",), "STEP", "forward or back to a step", go_to),
    DebugCommand(("restart",), "", "from the start, without changes", restart),
    DebugCommand(("l", "list"), "[all]", "the prompt, its steps, the source around", list_source),
    DebugCommand(("e", "effect"), "", "the effect", show_effect),
    DebugCommand(("v", "vars"), "", "the variables; + new, * changed, - gone", show_variables),
    DebugCommand(("p", "print"), "EXPRESSION", "its value", evaluate),
    DebugCommand(("x", "expand"), "VARIABLE", "its parts; x VARIABLE.part[0] theirs", expand),
    DebugCommand(("m", "model"), "", "the messages to the model, and its reply", show_turn),
    DebugCommand(("o", "output"), "", "the output of the program", show_output),
    DebugCommand(("w", "where"), "", "the block and those around it", show_stack),
    DebugCommand(("t", "steps"), "", "all steps so far", list_steps),
    DebugCommand(("b", "break"), "[BREAKPOINT]", "set a breakpoint; list them", add_breakpoint),
    DebugCommand(("cl", "clear"), "[NUMBER]", "remove a breakpoint, or all", clear_breakpoints),
    DebugCommand(("set",), "NAME = EXPRESSION", "change a variable", set_variable),
    DebugCommand(("edit",), "[TEXT]", "change the effect before it is performed", edit),
    DebugCommand(("reject",), "WORDS", "refuse the effect; the model is answered WORDS", decide(RunController.reject_effect, "the effect will be refused")),
    DebugCommand(("abort",), "[WORDS]", "end the block with an error", decide(RunController.abort_effect, "the block will end with an error")),
    DebugCommand(("accept",), "", "take edit, reject or abort back", decide(lambda run, words: run.accept_effect(), "the effect will be performed")),
    DebugCommand(("fork",), "", "list the changes", show_fork),
    DebugCommand(("live",), "", "ask a model where nothing is recorded", go_live),
    DebugCommand(("save",), "FILE", "save the recording of this run", save_recording),
    DebugCommand(("input",), "[TEXT]", "give the program a line of input", feed(lambda run, words: run.send_input(f"{words}\n"))),
    DebugCommand(("eof",), "", "end the input of the program", feed(lambda run, words: run.close_input())),
    DebugCommand(("h", "?", "help"), "[COMMAND]", "this list", show_help),
    DebugCommand(("q", "quit"), "", "end the program and the debugger", lambda session, words: QuitWanted()),
)  # fmt: skip
COMMANDS: Mapping[str, DebugCommand] = {name: each for each in COMMAND_LIST for name in each.names}
