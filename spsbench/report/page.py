"""The report as one self-contained page: the answer first, then the plots, the tables, and how it was measured.

It loads nothing and needs no script. It can be read on a phone, in light and dark, and printed. The template is
`templates/page.html`, its style `templates/page.css`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from spsbench.methods import METHODS
from spsbench.published import METHOD_BY_PAPER_NAME, PUBLISHED_TABLES
from spsbench.report.answer import Advice
from spsbench.report.measures import MethodSummary
from spsbench.report.plots import (
    TOKEN_KINDS,
    draw_effect_plots,
    draw_graph_plots,
    draw_rate_plots,
    draw_token_bars,
    number_methods,
)
from spsbench.report.tables import Table, build_summary_table
from spsbench.results import GraphResult

Facts = Sequence[tuple[str, str]]
"""The foot of the report: names and texts."""


@dataclass(frozen=True, slots=True)
class SettingSection:
    """One setting: its methods' rows, and the advice that follows from them."""

    rows: tuple[MethodSummary, ...]
    answer: Advice

    @property
    def title(self) -> str:
        """The name of the setting."""
        return str(self.rows[0].setting)


def render_report_page(
    parts: Sequence[SettingSection],
    tables: Sequence[Table],
    asked: Sequence[GraphResult],
    programs: Sequence[str],
    facts: Facts,
) -> str:
    """Render the page; needs jinja2 and matplotlib (the extra `bench`)."""
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("spsbench.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["code"] = render_inline_code
    measured = {row.method for part in parts for row in part.rows}
    measured |= {result.method for result in asked}
    numbers = number_methods({*METHOD_BY_PAPER_NAME.values(), *measured})
    sections = [
        {
            "title": part.title,
            "answer": part.answer,
            "summary": build_summary_table(part.title, part.rows),
            "rows": part.rows,
            "methods": [row.method for row in part.rows],
            "rates": draw_rate_plots(part.rows, PUBLISHED_TABLES[4], numbers),
            "tokens": draw_token_bars(part.rows),
            "effects": draw_effect_plots(part.rows),
        }
        for part in parts
    ]
    graphs = [
        {
            "model": model,
            "count": len(group),
            "methods": [result.method for result in group],
            "plots": draw_graph_plots(group, numbers),
        }
        for model in sorted({result.model for result in asked})
        for group in [[result for result in asked if result.model == model]]
    ]
    page = environment.get_template("page.html").render(
        sections=sections,
        graphs=graphs,
        tables=tables,
        programs=programs,
        facts=facts,
        numbers=numbers,
        methods=METHODS,
        paper_methods=list(METHOD_BY_PAPER_NAME.values()),
        token_kinds=TOKEN_KINDS,
        Markup=Markup,
    )
    return f"{page.strip()}\n"


def render_inline_code(text: str) -> str:
    """Text for HTML, with what stands in `backticks` as code."""
    from markupsafe import Markup, escape

    return Markup(re.sub("`(.+?)`", r"<code>\1</code>", str(escape(text))))
