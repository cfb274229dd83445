"""Choose the form of each program of SPSBench on its other cases, and compare with the default.

    python bench/best_forms.py spsbench/results/repeats/forms-qwen2.5-coder-1.5b.jsonl

    natural, natural-ask, natural-text, direct    ->  for each case, the form that passes most on the other cases of its program

The file has the results of `spsbench run` with repeats of these methods. A form is not chosen for a program if it takes more
than twice the tokens of `natural` there, or has no result. Of equal forms, the first in METHODS is chosen. So no choice has
seen the case that it is measured on.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from njc.evaluation.comparison.text import format_text_table
from spsbench.journal import read_results_file
from spsbench.report.files import make_uniform
from spsbench.report.measures import compute_bootstrap_interval
from spsbench.results import TrialResult, group_by

METHODS = ("natural", "natural-ask", "natural-text", "direct")
MOST_TOKENS = 2.0
"""Times the tokens of `natural`."""


@dataclass(frozen=True, slots=True)
class FormResult:
    """The repeats of a program in one form."""

    rates: Mapping[str, float]
    """The share of passed checks of each case."""
    tokens: float
    """The mean of a repeat."""


@dataclass(frozen=True, slots=True)
class ProgramChoice:
    """The rates of a program in its default form and in the forms that its other cases choose."""

    program: str
    default: float
    chosen: float
    tokens: float
    """Times the tokens of `natural`."""
    forms: Sequence[str]
    """The chosen form of each case."""


def read_forms(path: Path) -> dict[str, dict[str, FormResult]]:
    """Return the results by program and method; of programs with fewer repeats than others, those that ended."""
    trials = read_results_file(path).select(TrialResult)
    return {
        program: {
            method: summarize_trials(repeats)
            for method, repeats in group_by(found, lambda trial: trial.method).items()
        }
        for program, found in group_by(trials, lambda trial: trial.program).items()
    }


def summarize_trials(trials: Sequence[TrialResult]) -> FormResult:
    """Return the rates and tokens of the repeats of a program."""
    rates: dict[str, list[float]] = defaultdict(list)
    for trial in trials:
        # A check is named `case: text`.
        cases = group_by(trial.checks, lambda check: check.partition(":")[0])
        for case, checks in cases.items():
            rates[case].append(fmean(trial.checks[check] for check in checks))
    tokens = fmean(trial.usage.input + trial.usage.output for trial in trials)
    return FormResult({case: fmean(found) for case, found in rates.items()}, tokens)


def choose_forms(program: str, results: Mapping[str, FormResult]) -> ProgramChoice:
    """Choose the form of each case by the other cases of the program; the only case keeps the default."""
    default = results["natural"]
    forms = [
        name
        for name in METHODS
        if name in results and results[name].tokens <= MOST_TOKENS * default.tokens
    ]

    def choose(case: str) -> str:
        others = [other for other in default.rates if other != case]
        if not others:
            return "natural"
        # The first form of the best ones: rounding keeps sums of floats from deciding between equal ones.
        return max(
            forms, key=lambda name: round(fmean(results[name].rates[at] for at in others), 9)
        )

    chosen = {case: choose(case) for case in default.rates}
    return ProgramChoice(
        program,
        fmean(default.rates.values()),
        fmean(results[name].rates[case] for case, name in chosen.items()),
        fmean(results[name].tokens for name in chosen.values()) / default.tokens,
        [*chosen.values()],
    )


def format_report(choices: Sequence[ProgramChoice]) -> str:
    """Return the table of the programs, and the means with the interval of the difference, by resampling the programs."""
    rows = [
        (
            each.program,
            f"{each.default:.2f}",
            f"{each.chosen:.2f}",
            f"{each.tokens:.2f}",
            ", ".join(f"{name} {count}" for name, count in Counter(each.forms).items()),
        )
        for each in choices
    ]
    table = format_text_table(
        ("program", "natural", "chosen", "tokens", "forms of its cases"), rows, 1
    )
    differences = [[each.chosen - each.default] for each in choices]
    low, high = compute_bootstrap_interval(differences, make_uniform())
    return (
        f"{table}\n\nall {len(choices)}: {fmean(each.default for each in choices):.3f} -> "
        f"{fmean(each.chosen for each in choices):.3f}, "
        f"{fmean(each for [each] in differences):+.3f} ({low:+.3f} to {high:+.3f}), "
        f"{fmean(each.tokens for each in choices):.2f} times the tokens"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("results", type=Path, nargs="?", help="a file of `spsbench run`")
    options = parser.parse_args()
    if options.results is None:
        print("best_forms: give a file of `spsbench run` with repeats of " + ", ".join(METHODS))
        return
    results = read_forms(options.results)
    print(format_report([choose_forms(name, results[name]) for name in sorted(results)]))


if __name__ == "__main__":
    main()
