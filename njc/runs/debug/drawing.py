"""The panes of the full screen as styled text.

    draw_source(report, width)        DrawnText(rich text, row of the current line)
    draw_variables(report)            "* total: int = 0 -> 12", coloured

No information is conveyed by colour alone: a mark or a word repeats it.
"""

from __future__ import annotations

import re

from rich.console import Console
from rich.style import Style
from rich.syntax import Syntax
from rich.text import Text

from njc.runs.debug.stop_report import MARKS, StopReport, clean_text, summarize_step
from njc.runs.timeline.steps import Step, Timeline
from njrt.records import record

_TAG = re.compile(r"<:?[^\W\d][^<>]*>")
_MARK_STYLES = {"": "", "new": "green", "changed": "yellow", "gone": "red"}
_MEASURE = Console(width=200)
MAX_ROWS = 400
"""The number of source lines drawn around the current one."""
MAX_STEPS = 400
"""The number of steps drawn around the current one."""


@record
class DrawnText:
    """The text of a pane, and the row to keep in view."""

    text: Text
    row: int = 0


def draw_source(report: StopReport, width: int) -> DrawnText:
    """Return the source, wrapped to `width` columns, with the steps of the block under its prompt."""
    rows = report.source
    index = next((index for index, row in enumerate(rows) if row.is_current), 0)
    start = max(0, index - MAX_ROWS // 2)
    code = highlight("\n".join(row.text if row.kind == "code" else "" for row in rows))
    lines: list[Text] = []
    current = 0
    for row, highlighted in zip(rows[start:][:MAX_ROWS], code[start:], strict=False):
        text = highlighted if row.kind == "code" else Text(row.text)
        if row.kind == "prompt":
            text.highlight_regex(_TAG, "bold cyan")
        if row.kind == "step":
            text.stylize("bold" if row.is_current else "dim")
        bar = {"code": " ", "prompt": "│", "step": "•"}[row.kind]
        number = f"{row.number:>4}" if row.number else "    "
        head = Text.assemble(
            (number, "dim"), (" ▶" if row.is_current else "  "), (bar, "cyan"), " "
        )
        if row.is_current:
            head.stylize("bold yellow")
            current = len(lines) if row.kind == "prompt" or not current else current
        lines += hang(head, text, width)
    return DrawnText(Text("\n").join(lines), current)


def hang(head: Text, text: Text, width: int) -> list[Text]:
    """Return a text after a head, wrapped; continuation lines are indented like the first."""
    indent = len(text.plain) - len(text.plain.lstrip())
    room = max(10, width - len(head))
    indent = min(indent, room // 2)
    text = text[len(text.plain) - len(text.plain.lstrip()) :]
    wrapped = text.wrap(_MEASURE, max(10, room - indent)) or [Text()]
    blank = " " * indent
    first, *rest = wrapped
    return [
        Text.assemble(head, blank, first),
        *(Text.assemble(" " * len(head), blank, line) for line in rest),
    ]


def highlight(code: str) -> list[Text]:
    """Return the lines of Python code in colours that work on any background."""
    text = Syntax("", "python", theme="ansi_dark").highlight(code + "\n")
    plain = Text(text.plain)
    for span in text.spans:
        style = span.style if isinstance(span.style, Style) else Style.parse(span.style)
        shown = Style(color=style.color, bold=style.bold, italic=style.italic)
        plain.stylize(shown, span.start, span.end)
    return list(plain.split("\n", allow_blank=True))[: code.count("\n") + 1]


def draw_effect(report: StopReport, width: int) -> Text:
    """Return the pending effect, entry or exit, with the result of the last effect above it."""
    lines: list[Text] = []
    step = report.step
    if report.last_result:
        style = "red" if report.last_result.startswith("refused") else ""
        lines += hang(Text("last: "), Text(report.last_result, style), width)
    match step.kind:
        case "enter":
            lines.append(Text("The model has not been asked yet; s asks it."))
        case "exit":
            lines.append(Text(f"The block ends: {clean_text(step.result)}", "bold"))
            lines += hang(Text(), Text(clean_text(step.error), "red"), width)
        case _:
            for number, line in enumerate(highlight(report.effect.rstrip("\n")), 1):
                mark = "▶" if number == step.code_line else " "
                lines += hang(Text(f"{number:>3} {mark}", "bold yellow"), line, width)
    return Text("\n").join(lines)


def draw_reply(text: str, width: int) -> DrawnText:
    """Return a reply that is still arriving, with its end in view."""
    lines = [Text("The model replies:", "bold")]
    for line in highlight(text):
        lines += hang(Text("~ ", "dim"), line, width)
    return DrawnText(Text("\n").join(lines), len(lines))


def draw_variables(report: StopReport, width: int) -> Text:
    """Return the variables with their marks; those changed by the last step come first."""
    lines: list[Text] = []
    for row in report.variables:
        style = _MARK_STYLES[row.mark]
        text = Text(str(row), style)
        text.stylize("bold", 0, len(row.name))
        lines += hang(Text(f"{MARKS[row.mark]} ", style), text, width)
    return Text("\n").join(lines)


def draw_steps(timeline: Timeline, here: Step) -> DrawnText:
    """Return the known steps near this one."""
    start = max(0, here.number - MAX_STEPS // 2)
    lines = []
    for step in timeline[start : start + MAX_STEPS]:
        mark = "▶" if step.number == here.number else " "
        place = f"{step.place} " if step.kind == "enter" else ""
        text = Text(f"{mark}{step.number:>4} {'  ' * step.depth}{place}{summarize_step(step)}")
        if step.is_refused:
            text.stylize("red")
        if step.number == here.number:
            text.stylize("bold yellow")
        lines.append(text)
    return DrawnText(Text("\n", no_wrap=True).join(lines), here.number - start)
