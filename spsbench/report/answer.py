"""The answer for a reader in a hurry: which method to use, and what each one costs, in sentences.

    answer(rows, fresh)     Answer("Use direct: it passes most, ...", (("direct", "passes 71% of the checks ..."), ...))

A method is as good as another as far as the data can tell where the interval of their paired difference holds
zero. Of the methods that are as good as the best, the advice takes the one of least cost: in dollars where all
prices are known, in tokens where they are not. Methods that were tried on fewer programs are no candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from spsbench.methods import METHODS
from spsbench.report.measures import Coverage, Measured, Uniform, coverage_text, difference
from spsbench.studies.study import SCRIPTED


@dataclass(frozen=True, slots=True)
class Answer:
    """What to use, and a sentence for each method, the best first."""

    advice: str
    sentences: tuple[tuple[str, str], ...]
    """The method, and what is said of it."""


def answer(rows: Sequence[Measured], fresh: Callable[[], Uniform]) -> Answer:
    """Say which of the methods of one setting to use; there must be at least one."""
    ranked = sorted(rows, key=lambda row: -row.rate.mean)
    most = max(len(row.by_program) for row in ranked)
    comparable = [row for row in ranked if len(row.by_program) == most]
    best = comparable[0]
    equals = [row for row in comparable if row is best or is_as_good(row, best, fresh())]
    return Answer(
        advice(best, equals, ranked) + missing(best.coverage),
        tuple(
            (
                row.method,
                sentence(row, best, row in equals)
                + (missing(row.coverage) if row.coverage != best.coverage else ""),
            )
            for row in ranked
        ),
    )


def missing(coverage: Coverage) -> str:
    """What there is, where something is missing: said with the advice, and of a method only where it differs."""
    return "" if coverage.is_whole else f" This is over {coverage_text(coverage)} only."


def is_as_good(row: Measured, best: Measured, uniform: Uniform) -> bool:
    """Whether chance can explain how much better the best method is, over the programs that both have."""
    low, _ = difference(best, row, uniform)
    return low <= 0


def advice(best: Measured, equals: Sequence[Measured], rows: Sequence[Measured]) -> str:
    """What to use, and what to use instead where a program is built once and runs often."""
    if best.setting.model == SCRIPTED:
        return "Scripts answered, and no model: this says what our own code takes, and not which method to use."
    if len(rows) == 1:
        return f"Only {best.method} has been measured."
    choice = min(equals, key=price if are_priced(equals) else tokens)
    often = min(equals, key=run_tokens)
    text = chosen(choice, best, equals)
    if run_tokens(often) < run_tokens(choice):
        text += (
            f" For a program that runs often, {often.method}: once it is built, "
            f"a run takes {run_tokens(often):,.0f} tokens instead of {run_tokens(choice):,.0f}."
        )
    return text


def chosen(choice: Measured, best: Measured, equals: Sequence[Measured]) -> str:
    """What to use, and why."""
    if len(equals) == 1:
        return f"Use {best.method}: it passes more than every other method, and more than chance explains."
    if choice is best:
        names = listed([row.method for row in equals if row is not best])
        less = "costs less" if are_priced(equals) else "takes fewer tokens"
        return f"Use {best.method}: it passes most, and of what is too close to tell from it ({names}) nothing {less}."
    behind = 100 * (best.rate.mean - choice.rate.mean)
    least = "costs least" if are_priced(equals) else "takes the fewest tokens"
    return (
        f"Start with {choice.method}: {best.method} passes most, but too little more to rule out chance "
        f"({behind:.0f} points), and of what is as close, {choice.method} {least}."
    )


def sentence(row: Measured, best: Measured, is_equal: bool) -> str:
    """What a method does and costs, in one sentence."""
    text = (
        f"passes {row.rate.mean:.0%} of the checks ({row.rate.low:.0%} to {row.rate.high:.0%}) and takes "
        f"{duration(row.seconds.mean)} and {row.tokens:,.0f} tokens{dollars(row)} a program{building(row)}"
    )
    return f"{text}{behind(row, best, is_equal)}."


def behind(row: Measured, best: Measured, is_equal: bool) -> str:
    """How far a method is behind the best, and whether that may be chance."""
    points = f"{100 * (best.rate.mean - row.rate.mean):.0f}"
    if row is best:
        return ""
    if points in ("0", "-0"):
        return f"; it is level with {best.method}"
    said = "points" if points != "1" else "point"
    why = "which may be chance" if is_equal else "more than chance explains"
    return f"; {points} {said} behind {best.method}, {why}"


def building(row: Measured) -> str:
    """What of it is paid once, when the program is built."""
    if row.method in METHODS and not METHODS[row.method].is_static:
        return ""
    return f", of which {duration(row.build_seconds.mean)} and {row.build_tokens.mean:,.0f} tokens are for building it, once"


def dollars(row: Measured) -> str:
    """What the trial cost, where that is known."""
    return f" (${row.cost.mean:.4f})" if row.cost and row.cost.high else ""


def are_priced(rows: Sequence[Measured]) -> bool:
    """Whether all prices are known."""
    return all(row.cost is not None for row in rows)


def price(row: Measured) -> float:
    """US dollars of a trial, whose price is known."""
    assert row.cost is not None
    return row.cost.mean


def tokens(row: Measured) -> float:
    """Tokens of a trial, building included."""
    return row.tokens


def run_tokens(row: Measured) -> float:
    """Tokens of a trial once the program is built."""
    return row.tokens - row.build_tokens.mean


def duration(seconds: float) -> str:
    """Seconds in words."""
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
