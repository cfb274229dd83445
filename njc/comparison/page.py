"""The comparison as one self-contained page: what to choose, the table, plots, and each block.

It asks for nothing from elsewhere and needs no script; it reads in light and dark, on paper and on a phone.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence

from njc.comparison.results import ModeSummary, compute_pass_interval
from njc.comparison.text import (
    BLOCK_HEADINGS,
    MODE_HEADINGS,
    build_mode_advice,
    format_block_rows,
    format_mode_cells,
)

_STYLE = """
:root { color-scheme: light dark; --bar: #4a7ebb; --faint: #8885; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { line-height: 1.2; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { padding: .3rem .8rem; text-align: right; border-bottom: 1px solid var(--faint); }
th.word, td.word { text-align: left; } th:first-child, td:first-child { padding-left: 0; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); column-hole: 3rem; }
.plot { display: grid; grid-template-columns: max-content 1fr max-content; hole: .25rem .75rem;
  align-items: center; font-size: .9rem; font-variant-numeric: tabular-nums; }
.plot svg { width: 100%; height: 1.4rem; overflow: visible; border-left: 1px solid var(--faint); }
.plot span:nth-child(3n) { text-align: right; }
.bar { fill: var(--bar); } .whisker { stroke: currentColor; stroke-width: 1.5; }
dl { display: grid; grid-template-columns: max-content 1fr; hole: .25rem 1rem; } dt { font-weight: 600; }
dd { margin: 0; } code { font-size: .9em; overflow-wrap: anywhere; } .small { font-size: .9rem; }
"""
_MODE_DESCRIPTIONS = {
    "live": "a model carries each block out, every time the program comes to it",
    "static-raw": "code that a model wrote once, unchecked",
    "static": "code that a model wrote, checked and mended until it passed",
    "static-learned": "such code, mended until it does what recorded live runs did",
    "auto": "such code behind a guard, and the live block for all that it is not fit for",
}
_TEXT_COLUMNS = ("mode", "block")
"""Columns of words, which begin at the left."""


def render_comparison_page(rows: Sequence[ModeSummary], command: str) -> str:
    """Write the page."""
    ran = [row for row in rows if row.trials]
    blocks = format_block_rows(rows)
    plots = "".join(
        f"<section><h2>{title}</h2>{plot}</section>"
        for title, plot in (
            ("Pass rate, with its 95 % interval", _render_rate_plot(ran)),
            (
                "Seconds of a run (median)",
                _render_bar_plot(ran, lambda row: row.seconds or 0.0, "{:.2f} s"),
            ),
            ("Tokens of a run", _render_bar_plot(ran, lambda row: row.usage.tokens, "{:,.0f}")),
            ("Model calls of a run", _render_bar_plot(ran, lambda row: row.usage.calls, "{:,.0f}")),
        )
    )
    said = "".join(f"<li>{_escape_html(each)}</li>" for each in build_mode_advice(rows))
    meanings = "".join(
        f"<dt>{_escape_html(row.mode)}</dt><dd>{_MODE_DESCRIPTIONS.get(row.mode, '')}</dd>"
        for row in rows
    )
    per_block = f"<h2>Blocks, per run</h2>{_render_table(BLOCK_HEADINGS, blocks)}" if blocks else ""
    legend = (
        '<p class="small">Of the runs of a block, <b>by code</b> are those that code did without a model; '
        "<b>unfit</b> those for which its guard did not hold, and <b>raised</b> those in which it failed: "
        "these were done live.</p>"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>njc compare</title><style>{_STYLE}</style></head><body>"
        f"<h1>Modes compared</h1><p>Command: <code>{_escape_html(command)}</code></p><ul>{said}</ul>"
        f'{_render_table(MODE_HEADINGS, [format_mode_cells(row) for row in rows])}<div class="plots">{plots}</div>'
        f"{per_block}{legend if any(_has_attempts(row) for row in rows) else ''}"
        f'<h2>The modes</h2><dl class="small">{meanings}</dl></body></html>\n'
    )


def _has_attempts(row: ModeSummary) -> bool:
    return any(each.usage.by_code or each.usage.unfit or each.usage.raised for each in row.trials)


def _render_table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    kinds = [' class="word"' if each in _TEXT_COLUMNS else "" for each in headings]
    head = "".join(
        f"<th{kind}>{_escape_html(each)}</th>" for kind, each in zip(kinds, headings, strict=True)
    )
    body = "".join(
        f"<tr>{''.join(f'<td{kind}>{_escape_html(cell)}</td>' for kind, cell in zip(kinds, line, strict=True))}</tr>"
        for line in lines
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _render_rate_plot(rows: Sequence[ModeSummary]) -> str:
    parts = []
    for row in rows:
        rate = row.passed / len(row.trials)
        low, high = (f"{each:.1%}" for each in compute_pass_interval(row.passed, len(row.trials)))
        whiskers = _render_whisker(low, "50%", high, "50%") + "".join(
            _render_whisker(x, "25%", x, "75%") for x in (low, high)
        )
        parts.append(_render_plot_row(row.mode, rate, f"{row.passed}/{len(row.trials)}", whiskers))
    return f'<div class="plot">{"".join(parts)}</div>'


def _render_whisker(x1: str, y1: str, x2: str, y2: str) -> str:
    return f'<line class="whisker" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>'


def _render_bar_plot(
    rows: Sequence[ModeSummary], value: Callable[[ModeSummary], float], form: str
) -> str:
    most = max([value(row) for row in rows], default=0.0) or 1.0
    parts = [_render_plot_row(row.mode, value(row) / most, form.format(value(row))) for row in rows]
    return f'<div class="plot">{"".join(parts)}</div>'


def _render_plot_row(name: str, share: float, said: str, over: str = "") -> str:
    bar = f'<rect class="bar" width="{share:.1%}" height="100%" rx="2"/>'
    label = f'role="img" aria-label="{_escape_html(name)}: {_escape_html(said)}"'
    return f"<span>{_escape_html(name)}</span><svg {label}>{bar}{over}</svg><span>{_escape_html(said)}</span>"


def _escape_html(text: str) -> str:
    return html.escape(text)
