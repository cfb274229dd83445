"""The comparison as one self-contained page: the table, plots as inline SVG, and each block.

It asks for nothing from elsewhere and needs no script; it reads in light and dark, and prints.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence

from njc.comparison import BLOCK_HEADINGS, HEADINGS, Row, block_cells, cells, interval

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .8rem; text-align: right; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; }
svg { max-width: 100%; height: auto; }
svg text { font: 13px system-ui, sans-serif; fill: currentColor; }
.bar { fill: #4a7ebb; } .whisker { stroke: currentColor; stroke-width: 1.5; } .axis { stroke: #8886; }
code { font-size: .9em; }
"""
_LEFT, _WIDTH, _STEP = 110, 520, 34


def page(rows: Sequence[Row], command: str, summary: str) -> str:
    """Write the page; `summary` is what a reader in a hurry should know."""
    failures = "".join(
        f"<p><b>{_text(row.mode)}</b> could not be built: {_text(row.build.failure)}</p>"
        for row in rows
        if row.build.failure
    )
    ran = [row for row in rows if row.trials]
    blocks = block_cells(rows)
    plots = "".join(
        f"<h2>{title}</h2>{drawing}"
        for title, drawing in (
            ("Pass rate, with its 95 % interval", _rates(ran)),
            (
                "Seconds a run takes (median)",
                _bars(ran, lambda row: row.seconds or 0.0, "{:.2f} s"),
            ),
            ("Tokens a run takes", _bars(ran, lambda row: row.usage.tokens, "{:,.0f}")),
            ("Model calls of a run", _bars(ran, lambda row: row.usage.calls, "{:,.0f}")),
        )
    )
    per_block = f"<h2>Blocks, per run</h2>{_table(BLOCK_HEADINGS, blocks)}" if blocks else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>njc compare</title><style>{_STYLE}</style></head><body>"
        f"<h1>Modes compared</h1><p>{_text(summary)}</p><p>Command: <code>{_text(command)}</code></p>"
        f"{_table(HEADINGS, [cells(row) for row in rows])}{failures}{plots}{per_block}</body></html>\n"
    )


def _table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{_text(each)}</th>" for each in headings)
    body = "".join(
        f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in line)}</tr>" for line in lines
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _rates(rows: Sequence[Row]) -> str:
    parts = []
    for index, row in enumerate(rows):
        rate = row.passed / len(row.trials)
        low, high = (_LEFT + _WIDTH * each for each in interval(row.passed, len(row.trials)))
        middle = index * _STEP + 18
        parts.append(_bar(row.mode, index, rate, f"{row.passed}/{len(row.trials)}"))
        parts.append(
            f'<line class="whisker" x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}"/>'
        )
        parts += (
            f'<line class="whisker" x1="{x:.1f}" x2="{x:.1f}" y1="{middle - 5}" y2="{middle + 5}"/>'
            for x in (low, high)
        )
    return _drawing(rows, parts)


def _bars(rows: Sequence[Row], value: Callable[[Row], float], form: str) -> str:
    most = max([value(row) for row in rows], default=0.0) or 1.0
    return _drawing(
        rows,
        [
            _bar(row.mode, index, value(row) / most, form.format(value(row)))
            for index, row in enumerate(rows)
        ],
    )


def _bar(name: str, index: int, share: float, said: str) -> str:
    top = index * _STEP + 6
    return (
        f'<text x="{_LEFT - 10}" y="{top + 17}" text-anchor="end">{_text(name)}</text>'
        f'<rect class="bar" x="{_LEFT}" y="{top}" width="{_WIDTH * share:.1f}" height="24" rx="3"/>'
        f'<text x="{_LEFT + _WIDTH + 12}" y="{top + 17}">{_text(said)}</text>'
    )


def _drawing(rows: Sequence[Row], parts: Sequence[str]) -> str:
    height = len(rows) * _STEP + 6
    axis = f'<line class="axis" x1="{_LEFT}" x2="{_LEFT}" y1="0" y2="{height}"/>'
    return (
        f'<svg viewBox="0 0 {_LEFT + _WIDTH + 110} {height}" width="740" role="img">'
        f"{axis}{''.join(parts)}</svg>"
    )


def _text(text: str) -> str:
    return html.escape(text)
