"""A comparison as text: its tables, and advice on which mode to choose.

mode    passed  95 % interval  build s  build tokens  run s  calls  tokens     USD
------  ------  -------------  -------  ------------  -----  -----  ------  ------
live      9/10     60% to 98%      0.2             0  42.92     21  20,160  0.0441
static   10/10    72% to 100%     25.0         3,900   3.66      3   2,880  0.0063

static did best: 10 of 10 runs passed, at 3.66 s and 2,880 tokens a run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from njc.evaluation.comparison.results import ModeSummary, ModeUsage
from njrt.observability.accounts import format_cost

MODE_HEADINGS = ("mode", "passed", "95 % interval", "build s", "build tokens", "run s", "calls", "tokens", "cost")  # fmt: skip


def format_mode_cells(row: ModeSummary) -> tuple[str, ...]:
    """Return a mode as table cells."""
    build = (f"{row.build.seconds:.1f}", f"{row.build.usage.tokens:,}")
    if row.build.failure or row.seconds is None:
        return (row.name, "not built" if row.build.failure else "0/0", "", *build, "", "", "", "")
    low, high = row.pass_interval
    return (
        row.name,
        f"{row.passed}/{len(row.runs)}",
        f"{low:.0%} to {high:.0%}",
        *build,
        f"{row.seconds:.2f}",
        f"{row.usage.calls:,}",
        f"{row.usage.tokens:,}",
        format_cost(row.usage.usd, row.usage.unpriced),
    )


def format_text_table(
    headings: Sequence[str], lines: Sequence[Sequence[str]], labels: int = 1
) -> str:
    """Lay out a table: the first `labels` columns are left-aligned, numbers are right-aligned."""
    widths = [max(map(len, column)) for column in zip(headings, *lines, strict=True)]
    rules = ["-" * width for width in widths]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < labels else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in (headings, rules, *lines)
    )


BLOCK_HEADINGS = ("block", "mode", "calls", "tokens", "cost", "model s", "by code", "unfit", "raised")  # fmt: skip


def format_block_rows(rows: Sequence[ModeSummary]) -> list[tuple[str, ...]]:
    """Return what each block used in each mode, per run."""
    lines: list[tuple[str, ...]] = []
    for place in sorted({place for row in rows for run in row.runs for place in run.blocks}):
        for row in rows:
            count = len(row.runs) or 1
            usage = sum((run.blocks.get(place, ModeUsage()) for run in row.runs), ModeUsage())
            if usage == ModeUsage():
                continue
            attempts = (usage.by_code, usage.unfit, usage.raised)
            lines.append(
                (
                    place,
                    row.name,
                    f"{usage.calls / count:.1f}",
                    f"{usage.tokens / count:,.0f}",
                    format_cost(usage.usd / count, usage.unpriced),
                    f"{usage.seconds / count:.2f}",
                    *(f"{number / count:.1f}" if any(attempts) else "" for number in attempts),
                )
            )
    return lines


def write_advice(rows: Sequence[ModeSummary]) -> list[str]:
    """Return what to know before choosing a mode; a mode that passed no run is never recommended."""
    # Run times vary too much to break ties between modes.
    good = [row for row in rows if row.passed]
    good.sort(key=lambda row: (-row.pass_rate, row.usage.tokens))
    failing = [row for row in rows if row.runs and not row.passed]
    advice = [*_compare_with_best(good), *_compute_break_even(good)]
    if failing and not good:
        advice.append("No run passed in any mode.")
    elif failing:
        advice.append(f"{_format_modes(failing)} failed: no run passed.")
    return advice + [
        f"{row.name} was not built: {row.build.failure}" for row in rows if row.build.failure
    ]


def _compare_with_best(good: Sequence[ModeSummary]) -> Iterator[str]:
    """Yield the best mode, the worse modes, and any that may be as good."""
    if not good:
        return
    best, *others = good
    yield (
        f"{best.name} did best: {_format_pass_count(best)} runs passed, at {best.seconds or 0.0:.2f} s "
        f"and {best.usage.tokens:,} tokens a run."
    )
    worse = [row for row in others if row.pass_interval[1] < best.pass_interval[0]]
    close = [row for row in others if row not in worse]
    if close:
        verb = "is" if len(close) == 1 else "are"
        cheapest = min(close, key=lambda row: row.usage.tokens)
        is_cheaper = cheapest.usage.tokens < best.usage.tokens
        hint = f"; {cheapest.name} uses the fewest tokens" if is_cheaper else ""
        yield f"{_format_modes(close)} {verb} too close to distinguish with so few runs{hint}."
    if worse:
        yield f"{_format_modes(worse)} did worse (outside of the 95 % interval)."


def _format_modes(rows: Sequence[ModeSummary]) -> str:
    *most, last = (f"{row.name} ({_format_pass_count(row)})" for row in rows)
    return f"{', '.join(most)} and {last}" if most else last


def _format_pass_count(row: ModeSummary) -> str:
    return f"{row.passed} of {len(row.runs)}"


def _compute_break_even(good: Sequence[ModeSummary]) -> Iterator[str]:
    """Yield the number of runs after which each mode's code has saved, compared with live, the tokens it cost."""
    live = next((row.usage.tokens for row in good if row.name == "live"), 0)
    runs = {
        row.name: math.ceil(row.build.usage.tokens / (live - row.usage.tokens))
        for row in good
        if row.usage.tokens < live and row.build.usage.tokens
    }
    if runs:
        counts = ", ".join(f"{mode} {count:,}" for mode, count in runs.items())
        yield f"Runs until code saves more tokens than it took to write, against live: {counts}."


def format_comparison_text(rows: Sequence[ModeSummary]) -> str:
    """Return the comparison as text for a terminal: modes, blocks, advice."""
    parts = [format_text_table(MODE_HEADINGS, [format_mode_cells(row) for row in rows])]
    if blocks := format_block_rows(rows):
        parts.append(format_text_table(BLOCK_HEADINGS, blocks))
    parts.append("\n".join(write_advice(rows)))
    return "\n\n".join(parts)
