"""The commands of the debugger that show what there is, and change nothing.

show_variables(session, "")        Said(("  * total: int = 0 -> 12", "    mails: list[str], 3 items = [...]"))
evaluate(session, "len(mails)")    Said(("int = 3",))
"""

from __future__ import annotations

import re

from njc.runs.debug.session import CommandResult, DebugSession, Said, get_controller, get_step
from njc.runs.debug.stop_report import (
    clean_text,
    describe_stop,
    format_variable,
    list_source_rows,
    summarize_step,
)
from njc.runs.timeline.controller import RunControlError, RunController
from njc.runs.timeline.steps import Step

_PATH = re.compile(r"\.\w+|\[[^\]]*\]")
LISTED_LINES = 6
"""Lines of the source that `l` shows before and after the prompt."""


def list_source(session: DebugSession, words: str) -> CommandResult:
    """Return the source around the prompt, or with `all` the whole."""
    rows = list(list_source_rows(session.run.timeline, get_step(session), session.folders))
    shown = [index for index, row in enumerate(rows) if row.kind != "code"] or [0]
    first, last = max(0, shown[0] - LISTED_LINES), shown[-1] + LISTED_LINES + 1
    lines = []
    for row in rows if words == "all" else rows[first:last]:
        mark = "->" if row.is_current else "  "
        number = str(row.number) if row.number else ""
        bar = {"code": " ", "prompt": "|", "step": "*"}[row.kind]
        lines.append(f"{number:>5} {mark} {bar} {row.text}".rstrip())
    return Said(tuple(lines))


def show_effect(session: DebugSession, words: str) -> CommandResult:
    """Return the pending effect, numbered."""
    step = get_step(session)
    report = session.make_report()
    if step.effect is None or report is None:
        raise RunControlError("no effect is pending here; step on to the next one")
    return Said(tuple(number_lines(report.effect, step.code_line)))


def number_lines(text: str, current: int = 0) -> list[str]:
    """Return the lines of code with numbers, and a mark at the current one."""
    return [
        f"{number:>5} {'->' if number == current else '  '} {line}".rstrip()
        for number, line in enumerate(text.splitlines(), 1)
    ]


def show_variables(session: DebugSession, words: str) -> CommandResult:
    """Return all variables, with what the last step has changed."""
    get_step(session)
    report = session.make_report()
    rows = report.variables if report is not None else ()
    marks = {"": " ", "new": "+", "changed": "*", "gone": "-"}
    return Said(tuple(f"  {marks[row.mark]} {format_variable(row)}" for row in rows))


def evaluate(session: DebugSession, words: str) -> CommandResult:
    """Return the value of an expression."""
    if not words:
        raise RunControlError("say what to evaluate: p EXPRESSION")
    get_step(session)
    if isinstance(session.run, RunController):
        return Said((clean_text(session.run.evaluate(words).text),))
    for variable in session.run.variables():
        if variable.name == words:
            return Said((clean_text(variable.text),))
    raise RunControlError(f"the trace has no variable `{words}` here, and evaluates nothing")


def expand(session: DebugSession, words: str) -> CommandResult:
    """Return the parts of a variable."""
    root = _PATH.sub("", words)
    if not root.isidentifier():
        raise RunControlError("say what to expand: x VARIABLE, or x VARIABLE.part[0]")
    get_step(session)
    parts = get_controller(session).expand(root, *_PATH.findall(words))
    lines = tuple(f"    {part.name}: {clean_text(part.text)}" for part in parts)
    return Said(lines or ("    no parts",))


def show_turn(session: DebugSession, words: str) -> CommandResult:
    """Return what the model was shown in this turn, and its reply."""
    get_step(session)
    report = session.make_report()
    if report is None or not report.shown:
        raise RunControlError("the model has not been asked here yet; `s` goes on to its effect")
    return Said(tuple(f"    {line}".rstrip() for line in report.shown.splitlines()))


def show_output(session: DebugSession, words: str) -> CommandResult:
    """Return what the program has written."""
    lines = clean_text(session.printed.rstrip("\n")).splitlines()
    return Said(tuple(f"| {line}".rstrip() for line in lines) or ("nothing was printed yet",))


def show_stack(session: DebugSession, words: str) -> CommandResult:
    """Return the block, and the blocks around it."""
    step: Step | None = get_step(session)
    lines = []
    while step is not None:
        lines.append(f"    {describe_stop(step)}")
        around = [
            other
            for other in session.run.timeline[: step.number]
            if other.run == step.parent and other.kind == "effect"
        ]
        step = around[-1] if around else None
    return Said(tuple(lines))


def list_steps(session: DebugSession, words: str) -> CommandResult:
    """Return all steps that are known."""
    run = session.run
    lines = []
    for step in run.timeline:
        mark = "->" if step.number == run.position.number and run.state == "stopped" else "  "
        text = f"{step.number:>5} {mark} {'  ' * step.depth}{step.place}  {summarize_step(step)}"
        lines.append(text)
    return Said(tuple(lines))
