"""Recommend a method, and compare costs, in sentences.

    build_advice(rows, fresh)
        Advice("Use direct: it passes most, ...", (("direct", "passes 71% of ..."), ...))

Two methods are equally good, as far as the data shows, if the interval of their paired difference
over common programs contains zero, or if these are fewer than `MIN_PROGRAMS`. Among the methods as
good as the best, the advice picks the cheapest, in dollars or else in tokens. Not detected: whether
the order holds for other programs or models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from njc.project.report import format_count
from spsbench.methods import METHODS
from spsbench.report.measures import (
    Coverage,
    MethodSummary,
    Uniform,
    compute_difference_interval,
    format_coverage,
    list_leads,
)
from spsbench.script import SCRIPTED

MIN_PROGRAMS = 6
"""Programs needed to compare: by chance five agree in 2 of 32 cases (sign test), six in 2 of 64."""


@dataclass(frozen=True, slots=True)
class Advice:
    """The advice, and a sentence per method: the best first, those tried on fewer programs last."""

    advice: str
    sentences: tuple[tuple[str, str], ...]
    """The method, and its sentence."""


def build_advice(rows: Sequence[MethodSummary], fresh: Callable[[], Uniform]) -> Advice:
    """Compare the methods of one setting; there must be at least one."""
    most = max(len(row.by_program) for row in rows)
    ranked = sorted(rows, key=lambda row: (len(row.by_program) < most, -row.rate.mean))
    comparable = [row for row in ranked if len(row.by_program) == most]
    best = comparable[0]
    gaps = {row.method: compare_to_best(row, best, fresh()) for row in ranked if row is not best}
    # The best method's lead may be due to chance.
    equals = [row for row in comparable if row is best or (gaps[row.method] or (0.0, 0.0))[0] <= 0]
    sentences = []
    for row in ranked:
        compared = "" if row is best else format_comparison(row, best, gaps[row.method])
        note = format_coverage_note(row.coverage) if row.coverage != best.coverage else ""
        note += " This is too low: its live blocks ran as code." if row.is_too_low else ""
        sentences.append((row.method, format_method_sentence(row, compared) + note))
    advice = format_advice(best, equals, ranked) + format_coverage_note(best.coverage)
    return Advice(advice, tuple(sentences))


def format_coverage_note(coverage: Coverage) -> str:
    """Return a sentence about missing trials, or "" if none are missing."""
    return "" if coverage.is_whole else f" This is over {format_coverage(coverage)} only."


DifferenceInterval = tuple[float, float] | None
"""The interval of the best method's lead over another method; None over too few programs."""


def compare_to_best(
    row: MethodSummary, best: MethodSummary, uniform: Uniform
) -> DifferenceInterval:
    """Return how far a method is behind the best, over the programs that both have trials of."""
    is_short = len(list_leads(best, row)) < MIN_PROGRAMS
    return None if is_short else compute_difference_interval(best, row, uniform)


def format_advice(
    best: MethodSummary, equals: Sequence[MethodSummary], rows: Sequence[MethodSummary]
) -> str:
    """Return the method to use, and the method for a program that is built once and runs often."""
    if best.setting.model == SCRIPTED:
        return (
            "Scripts answered instead of a model: this shows the cost of njc itself, not which"
            " method to use."
        )
    if best.rate.mean == 0:
        return "No method passed a check: none can be recommended."
    if len(rows) == 1:
        return f"Only {best.method} has been measured."
    most = len(best.by_program)
    if sum(len(row.by_program) == most for row in rows) == 1:
        return (
            f"Only {best.method} has been measured on {format_count(most, 'program')}: "
            "no method can be recommended over the others yet."
        )
    choice = min(equals, key=lambda row: row.tokens)
    if has_all_prices(equals):
        choice = min(equals, key=lambda row: row.cost.mean if row.cost else 0.0)
    often = min(equals, key=compute_run_tokens)
    text = format_choice(choice, best, equals)
    if compute_run_tokens(often) < compute_run_tokens(choice):
        text += (
            f" For a program that runs often, {often.method}: once it is built, a run takes"
            f" {compute_run_tokens(often):,.0f} tokens instead of"
            f" {compute_run_tokens(choice):,.0f}."
        )
    return text


def format_choice(
    choice: MethodSummary, best: MethodSummary, equals: Sequence[MethodSummary]
) -> str:
    """Return the method to use, and the reason."""
    if len(equals) == 1:
        return (
            f"Use {best.method}: it passes more than every other method, and more than chance"
            " explains."
        )
    if choice is best:
        *most, last = (row.method for row in equals if row is not best)
        names = f"{', '.join(most)} and {last}" if most else last
        less = "cost less" if has_all_prices(equals) else "take fewer tokens"
        verb = "does" if len(equals) == 2 else "do"
        return f"Use {best.method}: it passes most; {names} may be as good, but {verb} not {less}."
    least = "costs least" if has_all_prices(equals) else "takes the fewest tokens"
    leads = list_leads(best, choice)
    doubt = (
        f"too little more to rule out chance ({100 * fmean(leads):.0f} points)"
        if len(leads) >= MIN_PROGRAMS
        else f"on {format_count(len(leads), 'program')}, too few to rule out chance"
    )
    return (
        f"Start with {choice.method}: {best.method} passes most, but {doubt}, "
        f"and of the methods as close, {choice.method} {least}."
    )


def format_method_sentence(row: MethodSummary, compared: str) -> str:
    """Return a sentence with a method's pass rate, cost, and comparison with the best method."""
    rate, seconds = row.rate, format_mean_duration(row.seconds.mean)
    between = f" ({format_percent(rate.low)} to {format_percent(rate.high)})"
    dollars = f" (${row.cost.mean:.4f})" if row.cost and row.cost.high else ""
    building = ""
    if row.method not in METHODS or METHODS[row.method].is_static:
        building = (
            f", of which {format_mean_duration(row.build_seconds.mean)} and "
            f"{row.build_tokens.mean:,.0f} tokens are for building it, once"
        )
    return (
        f"passes {format_percent(rate.mean)} of a program's"
        f" checks{between if len(row.by_program) > 1 else ''} and takes {seconds} and"
        f" {row.tokens:,.0f} tokens{dollars} a program{building}{compared}."
    )


def format_percent(rate: float) -> str:
    """Return a rate rounded as in tables: 0.065 is 0.07 there and 7 % here, not Python's 6 %."""
    return f"{float(f'{rate:.2f}'):.0%}"


def format_comparison(row: MethodSummary, best: MethodSummary, gap: DifferenceInterval) -> str:
    """Return how far a method trails the best on common programs, and whether it may be chance."""
    leads = list_leads(best, row)
    if not leads:
        return f"; no program was tried with both this and {best.method}"
    common = format_count(len(leads), "program")
    where = "" if len(leads) == len(best.by_program) else f" on the {common} that both have"
    points = round(100 * fmean(leads))
    if points == 0:
        return f"; it is level with {best.method}{where}"
    if gap is None:
        why = "too few to rule out chance" if where else f"on {common} only"
    elif gap[0] <= 0 <= gap[1]:
        why = "which may be chance"
    else:
        why = "more than chance explains"
    distance = format_count(abs(points), "point")
    return f"; {distance} {'behind' if points > 0 else 'ahead of'} {best.method}{where}, {why}"


def has_all_prices(rows: Sequence[MethodSummary]) -> bool:
    """Return whether all prices are known."""
    return all(row.cost is not None for row in rows)


def compute_run_tokens(row: MethodSummary) -> float:
    """Return the tokens of a trial, without those for building the program."""
    return row.tokens - row.build_tokens.mean


def format_mean_duration(seconds: float) -> str:
    """Return a duration as text."""
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"
