"""The report as one self-contained page: the answer first, then the tables, the plots, and how it was made.

It asks for nothing from elsewhere and needs no script. It reads on a phone, in light and dark, and prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spsbench.methods import METHODS
from spsbench.published import OURS, PUBLISHED
from spsbench.report.answer import Answer
from spsbench.report.measures import Measured
from spsbench.report.page_drawing import escaped
from spsbench.report.page_graph import graph_plots
from spsbench.report.page_plots import (
    KINDS,
    Numbers,
    Panel,
    effects_against_seconds,
    numbers_of,
    program_map,
    rates_against_seconds,
    tokens_by_method,
)
from spsbench.report.page_style import STYLE
from spsbench.report.tables import Row, Table, glance
from spsbench.studies.graph_results import Asked

Facts = Sequence[tuple[str, str]]
"""What stands at the foot: a name, and what is so."""


@dataclass(frozen=True, slots=True)
class Part:
    """What is known of one setting: its methods' rows, and what they come to."""

    rows: tuple[Measured, ...]
    answer: Answer


def page(
    parts: Sequence[Part],
    tables: Sequence[Table],
    asked: Sequence[Asked],
    programs: Sequence[str],
    facts: Facts,
) -> str:
    """Write the page."""
    numbers = numbers_of(
        [*OURS.values(), *(row.method for part in parts for row in part.rows)]
        + [each.asking.method for each in asked]
    )
    body = [
        "<h1>Which method should I use, and what does it cost?</h1>",
        LEAD,
        *(opening(part) for part in parts),
        *(drawings(part, programs, numbers) for part in parts),
        *([graph_section(asked, numbers)] if asked else []),
        "<h2>Beside the paper</h2>",
        "<p>Every number of the paper is quoted as printed. The paper's programs, models and machines are others "
        "than ours: what can be compared is how the methods stand to each other.</p>",
        *map(folded, tables),
        "<h2>How this was measured</h2>",
        METHOD,
        f"<dl>{''.join(f'<dt>{escaped(name)}</dt><dd>{escaped(said)}</dd>' for name, said in facts)}</dl>",
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>SPSBench: which method, at what cost</title><style>{STYLE}</style></head>\n"
        f"<body><main>\n{chr(10).join(body)}\n</main></body></html>\n"
    )


LEAD = (
    "<p>SPSBench holds 25 programs that share their state with prompts. Each was run under several "
    "methods of carrying the prompts out, and its state was checked afterwards. "
    "What a method passes is the share of the checks that hold, with its 95 % interval in brackets; "
    "what it takes is the mean of a program.</p>"
)
METHOD = (
    "<p>Every program weighs the same: a mean is over programs, and of each over the repeats that it has. "
    "± is the standard deviation between whole repeats. The 95 % interval is a bootstrap in two "
    "stages, programs and then their repeats, drawn with a fixed seed: it says how a method would do on "
    "other programs of this kind. Where all programs have the same rate it has no width, and says little. "
    "Trials that failed are in all means. Where trials are missing, the table says so.</p>"
)


def opening(part: Part) -> str:
    """The answer for one setting, in sentences and in a table."""
    setting = str(part.rows[0].setting)
    items = "".join(
        f"<li><b>{escaped(method)}</b> {escaped(said)} <small>{escaped(about(method))}</small></li>"
        for method, said in part.answer.sentences
    )
    return (
        f'<section><h2>On {escaped(setting)}</h2><p class="answer">{escaped(part.answer.advice)}</p>'
        f"<ul>{items}</ul>{grid(glance(setting, part.rows))}</section>"
    )


def about(method: str) -> str:
    """What a method is."""
    return f"({METHODS[method].about})" if method in METHODS else ""


def drawings(part: Part, programs: Sequence[str], numbers: Numbers) -> str:
    """All plots of one setting."""
    setting = escaped(str(part.rows[0].setting))
    methods = [row.method for row in part.rows]
    return "".join(
        (
            f"<section><h2>Pass rate against seconds, on {setting}</h2>",
            panels(rates_against_seconds(part.rows, PUBLISHED[4], numbers)),
            legend([*OURS.values(), *methods], numbers),
            f"</section><section><h2>Cost, and pass rate by program, on {setting}</h2>",
            panels(
                [
                    ("Tokens a program", tokens_by_method(part.rows)),
                    ("Checks that hold, in percent", program_map(part.rows, programs, numbers)),
                ]
            ),
            legend(methods, numbers),
            '<p class="legend">Tokens: ',
            *(
                f'<span><span class="key {kind}"></span> {said}</span>'
                for kind, said in KINDS.items()
            ),
            "</p>",
            f"</section><section><h2>Effects against seconds, on {setting}</h2>"
            "<p>Each spot is a trial; "
            "those that are filled passed all checks. Seconds an effect are medians.</p>",
            panels(effects_against_seconds(part.rows)),
            "</section>",
        )
    )


def graph_section(asked: Sequence[Asked], numbers: Numbers) -> str:
    """The growing graph, for each model that was asked."""
    models = sorted({each.asking.model for each in asked})
    groups = [(model, [each for each in asked if each.asking.model == model]) for model in models]
    return "<section><h2>As the data grows</h2>" + "".join(
        f"<p>Six questions on citation graphs of growing size, on {escaped(model)}, {len(group):,} in all. "
        "<b>manual</b> copies the graph into the prompt; the others share it. "
        "What does not fit into a prompt counts as wrong and has no tokens and no seconds.</p>"
        f"{panels(graph_plots(group, numbers))}{legend((each.asking.method for each in group), numbers)}"
        for model, group in groups
    ) + "</section>"  # fmt: skip


def panels(drawn: Iterable[Panel]) -> str:
    """Drawings, side by side where there is room."""
    return f'<div class="panels">{"".join(panel(*each) for each in drawn)}</div>'


def panel(title: str, drawing: str) -> str:
    """One drawing under its title."""
    caption = f"<figcaption>{escaped(title)}</figcaption>" if title else ""
    return f"<figure>{caption}{drawing}</figure>"


def legend(methods: Iterable[str], numbers: Numbers) -> str:
    """Which number stands for which method."""
    shown = set(methods)
    items = (
        f"<span><b>{number}</b> {escaped(method)}</span>"
        for method, number in numbers.items()
        if method in shown
    )
    return f'<p class="legend">{" ".join(items)}</p>'


def folded(table: Table) -> str:
    """A table that opens on demand."""
    return (
        f"<details><summary><b>{escaped(table.name)}</b> {escaped(table.title)}</summary>"
        f"{grid(table)}</details>"
    )


def grid(table: Table) -> str:
    """A table, with its notes; it scrolls by itself where it is wider than the window."""
    notes = "".join(f"<p><small>{with_code(note)}</small></p>" for note in table.notes)
    columns = table.columns[table.labels - 1 :]
    head = "".join(f"<th{kind(name)}>{escaped(name)}</th>" for name in columns)
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(line(table, row) for row in table.rows)}</tbody></table></div>{notes}"
    )


def with_code(text: str) -> str:
    """Text for HTML, with what stands in `backticks` as code."""
    return re.sub("`(.+?)`", r"<code>\1</code>", escaped(text))


def line(table: Table, row: Row) -> str:
    """A row of a table, in the colour of its source; its labels in one cell, the last of them above."""
    whose = {"paper": ' class="theirs"', "measured": ' class="ours"', "both": ""}[row.source]
    *more, label = (cell.text for cell in row.cells[: table.labels])
    small = f"<small>{escaped(' · '.join(more))}</small>" if more else ""
    pairs = list(zip(table.columns, row.cells, strict=True))[table.labels :]
    cells = "".join(f"<td{kind(name)}>{escaped(cell.text)}</td>" for name, cell in pairs)
    return f'<tr{whose}><th scope="row">{escaped(label)}{small}</th>{cells}</tr>'


def kind(column: str) -> str:
    """The class of a column: whether it holds words, or whose numbers."""
    if column == "trials":
        return ' class="words"'
    if column.startswith("measured: "):
        return ' class="ours"'
    return ' class="theirs"' if column.startswith("paper: ") else ""
