"""A stop as data, for the debugger's commands.

    report = make_stop_report(run)
    report.title           "citations.njpy:10, step 1: before Run"
    report.variables       (VariableRow("total", "int = 12", before="int = 0", mark="changed"), ...)

An effect belongs to a whole prompt, so the current line is the same for all effects of a block.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Literal

from njc.compiler.frontend.source import SourceFile
from njc.debug.timeline.breakpoints import find_block_at, find_step_source, read_number
from njc.debug.timeline.effect_text import (
    NO_CHANGE,
    format_effect,
    format_messages,
    format_reply,
    summarize_variables,
)
from njc.debug.timeline.run_controller import RunController
from njc.debug.timeline.steps import Step, Timeline, Variables
from njrt.data.records import record, replace
from njrt.values.rendering.writer import escape_unprintable

VariableMark = Literal["", "new", "changed", "gone"]
MARKS: Mapping[VariableMark, str] = {"": " ", "new": "+", "changed": "*", "gone": "-"}

_DECISIONS = {
    "edit": " (edited)",
    "reject": " (will be refused)",
    "abort": " (will end the block)",
}
_QUOTES = re.compile(r"""^[rRuUfF]{0,2}(\"{3}|'{3})|(\"{3}|'{3})$""")
_MARKER = re.compile(r"(natural|prompt)\s*(\(.*)?")
"""The first line of a prompt, without its quotes."""


@record
class VariableRow:
    """A variable, with its value before the last step if that step changed it."""

    name: str
    text: str
    before: str = ""
    mark: VariableMark = ""

    def __str__(self) -> str:
        """Return the variable on one line: `total: int = 0 -> 12`."""
        match self.mark:
            case "":
                return f"{self.name}: {self.text}"
            case "new":
                return f"{self.name}: (not bound) -> {self.text}"
            case "gone":
                return f"{self.name}: {self.before} -> (not bound)"
            case "changed":
                kind, equals, value = self.text.partition(" = ")
                is_same = equals and self.before.startswith(kind + equals)
                return f"{self.name}: {self.before} -> {value if is_same else self.text}"


@record
class ShownSource:
    """The source of a block's file or, without the file, its instruction; numbered from 1."""

    lines: tuple[str, ...]
    first: int
    """The first line of the prompt."""
    last: int
    current: int
    """At an exit, the last line of the prompt, otherwise the first one with text."""


@record
class StopReport:
    """A stop."""

    step: Step
    title: str
    source: ShownSource
    variables: tuple[VariableRow, ...]
    last_result: str
    """The result of the block's last step, apart from variable changes."""
    effect: str
    """The pending effect as text, with the user's edit."""
    shown: str
    """The messages added in the last turn up to the stop, and the model's reply."""


def make_stop_report(run: RunController) -> StopReport | None:
    """Return a report of the stop; None if the run has ended."""
    step = run.step
    if step is None:
        return None
    last = find_last_step(run.timeline, step)
    texts = {variable.name: variable.text for variable in run.variables()}
    effect = run.history.find_effect(step)
    step = replace(step, effect=effect)
    decision = run.history.find_decision(step.number).get("decision", "")
    return StopReport(
        step,
        describe_stop(step) + _DECISIONS.get(decision, ""),
        show_source(step, run.folders),
        tuple(list_variable_rows(last, texts)),
        describe_result(last) if last is not None else "",
        clean_text(format_effect(effect)) if effect is not None else "",
        clean_text(format_turn(find_asked_step(run.timeline, step))),
    )


def describe_stop(step: Step) -> str:
    """Return the place, the step number and the next action."""
    here = f"{step.place}, step {step.number}"
    match step.kind:
        case "enter":
            return f"{here}: entry of the block"
        case "exit":
            error = f", {clean_text(step.error.splitlines()[0])}" if step.error else ""
            return f"{here}: exit of the block, {clean_text(step.result)}{error}"
        case "effect" | "call":
            kind = step.name or "an effect without a record"
            tokens = f", {step.cost.input} tokens in, {step.cost.output} out"
            return f"{here}: before {kind}, turn {step.turn}{tokens if step.tokens else ''}"


def describe_result(step: Step) -> str:
    """Return the result of an effect, without changes of variables."""
    lines = []
    if step.is_refused:
        lines.append(f"refused: {clean_text(step.result)}")
    elif step.result_kind == "answer" and step.result:
        lines.append(f"answered: {clean_text(step.result)}")
    return "\n".join(lines)


def describe_missing_reply(error: str) -> list[str]:
    """Return advice if a program failed because its recording lacks a reply; otherwise nothing."""
    is_missing = error.startswith(("RecordingMismatchError", "RecordingMissingError"))
    return ["the recording has no reply for this; go back, then `live` asks a model"] * is_missing


def find_asked_step(timeline: Timeline, step: Step) -> Step | None:
    """Return the block's last step, up to this one, that has messages to the model."""
    steps = reversed(timeline[: step.number + 1])
    return next((other for other in steps if other.run == step.run and other.shown), None)


def format_turn(step: Step | None) -> str:
    """Return the messages to the model in a step's turn, and the model's reply."""
    if step is None:
        return ""
    parts = [f"shown to the model in turn {step.turn}:", format_messages(step.shown)]
    parts += ["", "reply of the model:", format_reply(step.reply)] if step.reply is not None else []
    return "\n".join(parts)


def find_last_step(timeline: Timeline, step: Step) -> Step | None:
    """Return the block's last effect before this step; None at an entry."""
    earlier = reversed(timeline[: step.number])
    found = next((other for other in earlier if other.run == step.run), None)
    return found if found is not None and found.kind == "effect" else None


def list_variable_rows(changed_by: Step | None, texts: Variables) -> Iterator[VariableRow]:
    """Yield the variables; those that a step has changed come first."""
    changes = changed_by.changes if changed_by is not None else {}
    before = changed_by.before if changed_by is not None else {}
    rows = []
    for name in (*texts, *(changes.keys() - texts.keys())):
        mark: VariableMark = ""
        if name in changes:
            mark = "gone" if name not in texts else "changed" if name in before else "new"
        old = clean_text(before.get(name, ""))
        rows.append(VariableRow(name, clean_text(texts.get(name, "")), old, mark))
    yield from sorted(rows, key=lambda row: not row.mark)


# ── the source ───────────────────────────────────────────────────────────────────────────────────


def show_source(step: Step, folders: Iterable[Path]) -> ShownSource:
    """Return the source of a step's block."""
    file = find_step_source(step, folders)
    first = read_number(step.place.rpartition(":")[2]) or 0
    block = find_block_at(file, first) if file is not None else None
    if file is None or block is None:
        lines, first = step.instruction.split("\n"), 1
        last = len(lines)
    else:
        lines, last = list_lines(SourceFile(file.name, file.read_bytes())), block.last
    texts = [_QUOTES.sub("", line.strip()) for line in lines[first - 1 : last]]
    marks = (index for index, text in enumerate(texts) if text and not _MARKER.fullmatch(text))
    current = last if step.kind == "exit" else first + next(marks, 0)
    return ShownSource(tuple(map(clean_text, lines)), first, last, current)


def list_lines(source: SourceFile) -> list[str]:
    """Return a source's lines, numbered as in block places, without line ends."""
    text, starts = source.text, source.line_starts
    lines = [text[start:end].rstrip("\r\n") for start, end in pairwise((*starts, len(text)))]
    return lines if starts[-1] < len(text) else lines[:-1]


def summarize_step(step: Step) -> str:
    """Return a step on one line: the variables at an entry, or the effect and its changes."""
    if step.kind == "enter":
        given = summarize_variables(step.changes)
        return clean_text(f"entry: {given}" if given else "entry")
    changed = f" -> {clean_text(summarize_change(step))}" if summarize_change(step) else ""
    if step.kind == "exit":
        return f"exit: {clean_text(step.result)}{changed}"
    first, *rest = step.code.splitlines() or [""]
    refused = " (refused)" if step.is_refused else ""
    return f"{step.name}: {clean_text(first)}{' …' if rest else ''}{changed}{refused}"


def summarize_change(step: Step) -> str:
    """Return the changes made by an effect or block in a few words; empty if it has not run."""
    is_silent = step.kind == "exit" or step.printed or step.result_kind != "outcome"
    empty = "" if is_silent or not (step.is_done and step.digest) else NO_CHANGE
    return summarize_variables(step.changes, step.changes) or empty


def clean_text(text: str) -> str:
    """Return a text without terminal control characters; line ends are kept."""
    return "\n".join(escape_unprintable(line) for line in text.expandtabs(4).split("\n"))
