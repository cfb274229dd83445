"""A comparison as text: its tables, and advice on which mode to choose.

mode    passed  95 % interval  build s  build tokens  run s  calls  tokens     cost
------  ------  -------------  -------  ------------  -----  -----  ------  -------
live     27/30     60% to 98%      0.2             0  42.92     21  20,160  $0.0441
static   30/30    72% to 100%     25.0         3,900   3.66      3   2,880  $0.0063

test                        live  static
--------------------------  ----  ------
tests.test_mail::test_bill   0/3     3/3

static did best: 30 of 30 tests passed, at 3.66 s and 2,880 tokens a run.
static pays after 1 run, against live: 3,900 tokens ($0.0190) to write it, 17,280 saved a run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from njc.measure.comparison.results import ModeSummary, count_differences
from njc.measure.pass_rates import compute_sign_test
from njc.project.report import format_count, format_text_table
from njrt.log.accounts import format_cost

MODE_HEADINGS = (
    *("mode", "passed", "95 % interval", "build s", "build tokens"),
    *("run s", "calls", "tokens", "cost"),
)
MAX_TESTS = 20
"""How many tests that differ are listed."""


def format_mode_cells(row: ModeSummary) -> tuple[str, ...]:
    """Return a mode as table cells."""
    build = (f"{row.build.seconds:.1f}", f"{row.build.tokens:,}")
    if not row.runs:
        return (row.name, "not built" if row.build.failure else "0/0", "", *build, "", "", "", "")
    (low, high), used, count = row.passes.interval, row.usage, len(row.runs)
    return (
        row.name,
        f"{row.passes.passed}/{row.passes.count}",
        f"{low:.0%} to {high:.0%}",
        *build,
        f"{row.seconds:.2f}",
        f"{used.calls / count:,.0f}",
        f"{row.tokens:,}",
        format_cost(used.usd / count, used.unpriced),
    )


def format_test_rows(rows: Sequence[ModeSummary]) -> list[tuple[str, ...]]:
    """Return the tests that pass more often in one mode than in another, at most MAX_TESTS."""
    ran = [row for row in rows if row.runs]
    found = {row.name: row.tests for row in ran}
    names = sorted({name for tests in found.values() for name in tests})
    lines = []
    for name in names:
        cells = [tests.get(name) for tests in found.values()]
        if len({cell and cell[0] / cell[1] for cell in cells}) > 1:
            counts = ("-" if cell is None else f"{cell[0]}/{cell[1]}" for cell in cells)
            lines.append((_shorten(name), *counts))
    return lines[:MAX_TESTS]


def _shorten(name: str) -> str:
    """Cut a long name in its middle; its end has a test's parameters."""
    return name if len(name) <= 72 else f"{name[:40]}...{name[-29:]}"


def write_advice(rows: Sequence[ModeSummary]) -> list[str]:
    """Return what to know before choosing a mode; a mode that passed no run is not recommended."""
    # Run times vary too much to break ties between modes.
    good = [row for row in rows if row.passes.passed]
    good.sort(key=lambda row: (-row.passes.rate, row.tokens))
    advice = []
    if good:
        best, *others = good
        count = f"{best.passes.passed} of {best.passes.count} tests passed"
        used = f"{best.seconds:.2f} s and {best.tokens:,} tokens a run"
        advice.append(f"{best.name} did best: {count}, at {used}.")
        if close := [row.name for row in others if _is_close(best, row)]:
            advice.append(f"Too close to distinguish with so few tests: {', '.join(close)}.")
    elif any(row.runs for row in rows):
        advice.append("No test passed in any mode.")
    advice += _compute_break_even(good)
    failed = [row for row in rows if row.build.failure]
    return advice + [f"{row.name} was not built: {row.build.failure}" for row in failed]


def _is_close(best: ModeSummary, other: ModeSummary) -> bool:
    """Return whether the difference may be chance: by a sign test on the tests of both modes."""
    if len(best.tests.keys() & other.tests.keys()) > 1:
        return compute_sign_test(*count_differences(best, other)) > 0.05
    return other.passes.interval[1] >= best.passes.interval[0]


def _compute_break_even(good: Sequence[ModeSummary]) -> Iterator[str]:
    """Yield after how many runs each mode's code has saved its token cost over live."""
    live = next((row.tokens for row in good if row.name == "live"), 0)
    for row in good:
        if row.tokens < live and row.build.tokens:
            saved = live - row.tokens
            runs = format_count(math.ceil(row.build.tokens / saved), "run")
            price = format_cost(row.build.usd or 0.0, row.build.usd is None)
            yield (
                f"{row.name} pays after {runs}, against live: {row.build.tokens:,} tokens "
                f"({price}) to write it, {saved:,} saved a run."
            )


def format_comparison_text(rows: Sequence[ModeSummary]) -> str:
    """Return the comparison as text for a terminal: modes, tests, advice."""
    parts = [format_text_table(MODE_HEADINGS, [format_mode_cells(row) for row in rows])]
    if tests := format_test_rows(rows):
        modes = [row.name for row in rows if row.runs]
        parts.append(format_text_table(("test", *modes), tests))
    parts.append("\n".join(write_advice(rows)))
    return "\n\n".join(parts)
