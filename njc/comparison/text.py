"""A comparison in words: its tables, and what someone who has to choose a mode should know first.

mode    passed  95 % interval  build s  build tokens  run s  calls  tokens     USD
------  ------  -------------  -------  ------------  -----  -----  ------  ------
live      9/10     60% to 98%      0.2             0  42.92     21  20,160  0.0441
static   10/10    72% to 100%     25.0         3,900   3.66      3   2,880  0.0063

static did best: 10 of 10 runs passed, at 3.66 s and 2,880 tokens a run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from njc.comparison.results import ModeSummary, ModeUsage, compute_pass_interval

MODE_HEADINGS = (
    "mode",
    "passed",
    "95 % interval",
    "build s",
    "build tokens",
    "run s",
    "calls",
    "tokens",
    "USD",
)


def format_mode_cells(row: ModeSummary) -> tuple[str, ...]:
    """One mode as the cells of a table."""
    build = (row.mode, "not built" if row.build.failure else f"{row.passed}/{len(row.trials)}")
    if row.build.failure or row.seconds is None:
        return (
            *build,
            "",
            f"{row.build.seconds:.1f}",
            f"{row.build.usage.tokens:,}",
            "",
            "",
            "",
            "",
        )
    low, high = compute_pass_interval(row.passed, len(row.trials))
    return (
        *build,
        f"{low:.0%} to {high:.0%}",
        f"{row.build.seconds:.1f}",
        f"{row.build.usage.tokens:,}",
        f"{row.seconds:.2f}",
        f"{row.usage.calls:,}",
        f"{row.usage.tokens:,}",
        f"{row.usage.usd:.4f}",
    )


def format_text_table(
    headings: Sequence[str], lines: Sequence[Sequence[str]], labels: int = 1
) -> str:
    """Lay out a table: the first `labels` columns to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(headings, *lines, strict=True)]
    rules = ["-" * width for width in widths]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < labels else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in (headings, rules, *lines)
    )


BLOCK_HEADINGS = (
    "block",
    "mode",
    "calls",
    "tokens",
    "USD",
    "model s",
    "by code",
    "unfit",
    "raised",
)


def format_block_rows(rows: Sequence[ModeSummary]) -> list[tuple[str, ...]]:
    """What each block used in each mode, per trial."""
    lines: list[tuple[str, ...]] = []
    for place in sorted({place for row in rows for each in row.trials for place in each.blocks}):
        for row in rows:
            count = len(row.trials) or 1
            used = sum((each.blocks.get(place, ModeUsage()) for each in row.trials), ModeUsage())
            if used == ModeUsage():
                continue
            tried = (used.by_code, used.unfit, used.raised)
            lines.append(
                (
                    place,
                    row.mode,
                    f"{used.calls / count:.1f}",
                    f"{used.tokens / count:,.0f}",
                    f"{used.usd / count:.4f}",
                    f"{used.seconds / count:.2f}",
                    *(f"{each / count:.1f}" if any(tried) else "" for each in tried),
                )
            )
    return lines


def build_mode_advice(rows: Sequence[ModeSummary]) -> list[str]:
    """What someone who has to choose a mode should know first."""
    ran = sorted((row for row in rows if row.trials), key=_make_sort_key)
    said = [*_describe_best(ran), *_describe_others(ran), *_describe_break_even(ran)]
    return said + [
        f"{row.mode} was not built: {row.build.failure}" for row in rows if row.build.failure
    ]


def _make_sort_key(row: ModeSummary) -> tuple[float, float, float]:
    return -row.passed / len(row.trials), row.usage.tokens, row.seconds or 0.0


def _describe_best(ran: Sequence[ModeSummary]) -> Iterator[str]:
    if not ran:
        return
    best = ran[0]
    seconds = f"{best.seconds or 0.0:.2f} s and {best.usage.tokens:,} tokens a run"
    if best.passed:
        yield f"{best.mode} did best: {_format_pass_rate(best)} runs passed, at {seconds}."
    else:
        yield "No run passed in any mode."


def _describe_others(ran: Sequence[ModeSummary]) -> Iterator[str]:
    """Tell the modes that are worse from those that may be as good."""
    if not ran or not ran[0].passed:
        return
    best, *others = ran
    low = compute_pass_interval(best.passed, len(best.trials))[0]
    worse = [row for row in others if compute_pass_interval(row.passed, len(row.trials))[1] < low]
    close = [row for row in others if row not in worse]
    if close:
        verb = "is" if len(close) == 1 else "are"
        cheapest = min(close, key=lambda row: (row.usage.tokens, row.seconds or 0.0))
        is_cheaper = cheapest.usage.tokens < best.usage.tokens
        hint = f"; {cheapest.mode} is the cheapest of all" if is_cheaper else ""
        yield f"{_format_modes(close)} {verb} too close to it to tell apart by so few runs{hint}."
    if worse:
        yield f"{_format_modes(worse)} did worse, and not by chance."


def _format_modes(rows: Sequence[ModeSummary]) -> str:
    *most, last = (f"{row.mode} ({_format_pass_rate(row)})" for row in rows)
    return f"{', '.join(most)} and {last}" if most else last


def _format_pass_rate(row: ModeSummary) -> str:
    return f"{row.passed} of {len(row.trials)}"


def _describe_break_even(ran: Sequence[ModeSummary]) -> Iterator[str]:
    """After how many runs the tokens that the code took to write are saved, against live blocks."""
    live = next((row.usage.tokens for row in ran if row.mode == "live"), 0)
    runs = {
        row.mode: math.ceil(row.build.usage.tokens / (live - row.usage.tokens))
        for row in ran
        if row.usage.tokens < live and row.build.usage.tokens
    }
    if runs:
        each = ", ".join(f"{mode} after {count:,}" for mode, count in runs.items())
        yield f"Runs after which the code has saved, against live, the tokens that it took to write: {each}."


def format_comparison_text(rows: Sequence[ModeSummary]) -> str:
    """The comparison for a terminal: modes, blocks, and what to know of them."""
    parts = [format_text_table(MODE_HEADINGS, [format_mode_cells(row) for row in rows])]
    if blocks := format_block_rows(rows):
        parts.append(format_text_table(BLOCK_HEADINGS, blocks))
    parts.append("\n".join(build_mode_advice(rows)))
    return "\n\n".join(parts)
