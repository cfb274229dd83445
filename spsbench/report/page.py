"""The report as one self-contained page: the answer first, then the tables, the plots, and how it was made.

It asks for nothing from elsewhere and needs no script. It reads on a phone, in light and dark, and prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spsbench.methods import METHODS
from spsbench.published import METHOD_BY_PAPER_NAME, PUBLISHED_TABLES
from spsbench.report.answer import Advice
from spsbench.report.measures import MethodSummary
from spsbench.report.page_drawing import escape_html
from spsbench.report.page_graph import render_graph_plots
from spsbench.report.page_plots import (
    TOKEN_KINDS,
    MethodNumbers,
    Panel,
    number_methods,
    render_effect_plots,
    render_program_map,
    render_rate_plots,
    render_token_bars,
)
from spsbench.report.page_style import STYLE
from spsbench.report.tables import Table, TableRow, build_summary_table
from spsbench.results import GraphResult

Facts = Sequence[tuple[str, str]]
"""What stands at the foot: a name, and what is so."""


@dataclass(frozen=True, slots=True)
class SettingSection:
    """What is known of one setting: its methods' rows, and what they come to."""

    rows: tuple[MethodSummary, ...]
    answer: Advice


def render_report_page(
    parts: Sequence[SettingSection],
    tables: Sequence[Table],
    asked: Sequence[GraphResult],
    programs: Sequence[str],
    facts: Facts,
) -> str:
    """Write the page."""
    numbers = number_methods(
        [*METHOD_BY_PAPER_NAME.values(), *(row.method for part in parts for row in part.rows)]
        + [each.method for each in asked]
    )
    body = [
        "<h1>Which method should I use, and what does it cost?</h1>",
        PAGE_INTRODUCTION,
        *(render_advice(part) for part in parts),
        *(render_setting_plots(part, programs, numbers) for part in parts),
        *([render_graph_section(asked, numbers)] if asked else []),
        "<h2>Beside the paper</h2>",
        "<p>Every number of the paper is quoted as printed. The paper's programs, models and machines are others "
        "than ours: what can be compared is how the methods stand to each other.</p>",
        *map(render_collapsed_table, tables),
        "<h2>How this was measured</h2>",
        PAGE_METHODOLOGY,
        f"<dl>{''.join(f'<dt>{escape_html(name)}</dt><dd>{escape_html(said)}</dd>' for name, said in facts)}</dl>",
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>SPSBench: which method, at what cost</title><style>{STYLE}</style></head>\n"
        f"<body><main>\n{chr(10).join(body)}\n</main></body></html>\n"
    )


PAGE_INTRODUCTION = (
    "<p>SPSBench holds 25 programs that share their state with prompts. Each was run under several "
    "methods of carrying the prompts out, and its state was checked afterwards. "
    "What a method passes is the share of the checks that hold, with its 95 % interval in brackets; "
    "what it takes is the mean of a program.</p>"
)
PAGE_METHODOLOGY = (
    "<p>Every program weighs the same: a mean is over programs, and of each over the repeats that it has. "
    "± is the standard deviation between whole repeats. The 95 % interval is a bootstrap in two "
    "stages, programs and then their repeats, drawn with a fixed seed: it says how a method would do on "
    "other programs of this kind. Where all programs have the same rate it has no width, and says little. "
    "Trials that failed are in all means. Where trials are missing, the table says so.</p>"
)


def render_advice(part: SettingSection) -> str:
    """The answer for one setting, in sentences and in a table."""
    setting = str(part.rows[0].setting)
    items = "".join(
        f"<li><b>{escape_html(method)}</b> {escape_html(said)} <small>{escape_html(describe_method(method))}</small></li>"
        for method, said in part.answer.sentences
    )
    return (
        f'<section><h2>On {escape_html(setting)}</h2><p class="answer">{escape_html(part.answer.advice)}</p>'
        f"<ul>{items}</ul>{render_html_table(build_summary_table(setting, part.rows))}</section>"
    )


def describe_method(method: str) -> str:
    """What a method is."""
    return f"({METHODS[method].about})" if method in METHODS else ""


def render_setting_plots(
    part: SettingSection, programs: Sequence[str], numbers: MethodNumbers
) -> str:
    """All plots of one setting."""
    setting = escape_html(str(part.rows[0].setting))
    methods = [row.method for row in part.rows]
    return "".join(
        (
            f"<section><h2>Pass rate against seconds, on {setting}</h2>",
            render_panels(render_rate_plots(part.rows, PUBLISHED_TABLES[4], numbers)),
            render_legend([*METHOD_BY_PAPER_NAME.values(), *methods], numbers),
            f"</section><section><h2>Cost, and pass rate by program, on {setting}</h2>",
            render_panels(
                [
                    ("Tokens a program", render_token_bars(part.rows)),
                    (
                        "Checks that hold, in percent",
                        render_program_map(part.rows, programs, numbers),
                    ),
                ]
            ),
            render_legend(methods, numbers),
            '<p class="legend">Tokens: ',
            *(
                f'<span><span class="key {kind}"></span> {said}</span>'
                for kind, said in TOKEN_KINDS.items()
            ),
            "</p>",
            f"</section><section><h2>Effects against seconds, on {setting}</h2>"
            "<p>Each spot is a trial; "
            "those that are filled passed all checks. Seconds an effect are medians.</p>",
            render_panels(render_effect_plots(part.rows)),
            "</section>",
        )
    )


def render_graph_section(asked: Sequence[GraphResult], numbers: MethodNumbers) -> str:
    """The growing graph, for each model that was asked."""
    models = sorted({each.model for each in asked})
    groups = [(model, [each for each in asked if each.model == model]) for model in models]
    return "<section><h2>As the data grows</h2>" + "".join(
        f"<p>Six questions on citation graphs of growing size, on {escape_html(model)}, {len(group):,} in all. "
        "<b>manual</b> copies the graph into the prompt; the others share it. "
        "What does not fit into a prompt counts as wrong and has no tokens and no seconds.</p>"
        f"{render_panels(render_graph_plots(group, numbers))}{render_legend((each.method for each in group), numbers)}"
        for model, group in groups
    ) + "</section>"  # fmt: skip


def render_panels(drawn: Iterable[Panel]) -> str:
    """Drawings, side by side where there is room."""
    return f'<div class="panels">{"".join(render_panel(*each) for each in drawn)}</div>'


def render_panel(title: str, drawing: str) -> str:
    """One drawing under its title."""
    caption = f"<figcaption>{escape_html(title)}</figcaption>" if title else ""
    return f"<figure>{caption}{drawing}</figure>"


def render_legend(methods: Iterable[str], numbers: MethodNumbers) -> str:
    """Which number stands for which method."""
    shown = set(methods)
    items = (
        f"<span><b>{number}</b> {escape_html(method)}</span>"
        for method, number in numbers.items()
        if method in shown
    )
    return f'<p class="legend">{" ".join(items)}</p>'


def render_collapsed_table(table: Table) -> str:
    """A table that opens on demand."""
    return (
        f"<details><summary><b>{escape_html(table.name)}</b> {escape_html(table.title)}</summary>"
        f"{render_html_table(table)}</details>"
    )


def render_html_table(table: Table) -> str:
    """A table, with its notes; it scrolls by itself where it is wider than the window."""
    notes = "".join(f"<p><small>{render_inline_code(note)}</small></p>" for note in table.notes)
    columns = table.columns[table.labels - 1 :]
    head = "".join(f"<th{get_column_class(name)}>{escape_html(name)}</th>" for name in columns)
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(render_html_row(table, row) for row in table.rows)}</tbody></table></div>{notes}"
    )


def render_inline_code(text: str) -> str:
    """Text for HTML, with what stands in `backticks` as code."""
    return re.sub("`(.+?)`", r"<code>\1</code>", escape_html(text))


def render_html_row(table: Table, row: TableRow) -> str:
    """A row of a table, in the colour of its source; its labels in one cell, the last of them above."""
    whose = {"paper": ' class="theirs"', "measured": ' class="ours"', "both": ""}[row.source]
    *more, label = (cell.text for cell in row.cells[: table.labels])
    small = f"<small>{escape_html(' · '.join(more))}</small>" if more else ""
    pairs = list(zip(table.columns, row.cells, strict=True))[table.labels :]
    cells = "".join(
        f"<td{get_column_class(name)}>{escape_html(cell.text)}</td>" for name, cell in pairs
    )
    return f'<tr{whose}><th scope="row">{escape_html(label)}{small}</th>{cells}</tr>'


def get_column_class(column: str) -> str:
    """The class of a column: whether it holds words, or whose numbers."""
    if column == "trials":
        return ' class="words"'
    if column.startswith("measured: "):
        return ' class="ours"'
    return ' class="theirs"' if column.startswith("paper: ") else ""
