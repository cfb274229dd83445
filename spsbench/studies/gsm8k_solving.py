"""Solve one problem under one method, and measure it.

solve_problem(Gsm8kTrial(7, "direct", "openai/local", 1), problem, model, StudyLimits())
    ->  Gsm8kResult(passed=True, ...)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from statistics import mean, stdev

from njc.evaluation.comparison.text import format_text_table
from njrt.models.model import Model
from spsbench.methods import METHODS
from spsbench.perfect import make_script_model
from spsbench.published import PUBLISHED_TABLES
from spsbench.results import Gsm8kResult, Gsm8kTrial, group_by, parse_json_lines
from spsbench.script import CaseScript
from spsbench.studies.study import StudyLimits, load_study_program, run_study


def solve_problem(
    trial: Gsm8kTrial, problem: Problem, model: Model | None, limits: StudyLimits
) -> Gsm8kResult:
    """Solve a problem; without a model, a perfect script answers."""
    method = METHODS[trial.method]
    program = load_study_program("gsm8k", method.file)
    right = str(problem.answer)
    script = CaseScript((right,), (f"expression = {right!r}",))
    played = run_study(
        lambda: program.solve(problem.question),
        model or make_script_model(script, method),
        method,
        limits,
    )
    found = played.value if isinstance(played.value, int | float) else None
    return Gsm8kResult(
        **asdict(trial), **played.fields, passed=problem.is_solved_by(found), found=found
    )


# ── problems in the format of GSM8K ────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem, numbered by its line."""

    number: int
    question: str
    answer: float

    def is_solved_by(self, found: object) -> bool:
        """Return whether a value is the answer, up to floating-point rounding."""
        return (
            isinstance(found, int | float)
            and math.isfinite(found)
            and math.isclose(found, self.answer, rel_tol=1e-9, abs_tol=1e-6)
        )


def parse_problems(lines: Iterable[str]) -> Iterator[Problem]:
    """Read a file of problems; `InputError` names an unreadable line."""

    def parse(number: int, written: dict[str, str]) -> Problem:
        final = written["answer"].rpartition("####")[2].strip()
        return Problem(number, written["question"], float(final.replace(",", "").lstrip("$")))

    expected = "not a problem: a JSON object with a question and an answer that ends in `#### 42`"
    return parse_json_lines(lines, parse, expected)


def read_sample_problems() -> list[str]:
    """Return the problems that come with the benchmark, one per line."""
    text = files("spsbench.studies").joinpath("gsm8k_sample.jsonl").read_text("utf-8")
    return text.splitlines(keepends=True)


# ── the means over many GSM8K problems ─────────────────────────────────────────────────────────────


COLUMNS = ("method", "problems", "pass rate", "seconds", "effects", "calls")


def format_gsm8k_table(results: Iterable[Gsm8kResult]) -> str:
    """Return a row for each method, and the paper's table 8."""
    groups = group_by(results, lambda result: result.method)
    ours = [make_gsm8k_row(method, group) for method, group in groups.items()]
    paper = [
        (f"{model} {name}", rate, seconds, effects)
        for model, name, rate, seconds, effects in PUBLISHED_TABLES[8].rows
    ]
    return "\n".join(
        (
            format_text_table(COLUMNS, ours),
            "",
            "The paper's table 8, quoted and not measured here, 1319 problems three times:",
            format_text_table(("method", "pass rate", "seconds", "effects"), paper),
        )
    )


def make_gsm8k_row(method: str, group: Sequence[Gsm8kResult]) -> tuple[str, ...]:
    """Return the means for one method, with the spread of the pass rate if there are repeats."""
    repeats = sorted({result.repeat for result in group})
    rates = [mean(result.passed for result in group if result.repeat == each) for each in repeats]
    spread = f" ± {stdev(rates):.2f}" if len(rates) > 1 else ""
    problems = len({result.problem for result in group})
    return (
        method,
        f"{problems}" + (f" x {len(repeats)}" if len(repeats) > 1 else ""),
        f"{mean(rates):.2f}{spread}",
        format_mean_and_range(group, lambda result: result.seconds, 1),
        format_mean_and_range(group, lambda result: result.effects, 0),
        format_mean_and_range(group, lambda result: result.calls, 0),
    )


def format_mean_and_range(
    group: Sequence[Gsm8kResult], measure: Callable[[Gsm8kResult], float], digits: int
) -> str:
    """Return a mean, and the smallest and the largest value."""
    values = [measure(result) for result in group]
    return f"{mean(values):.1f} ({min(values):.{digits}f}-{max(values):.{digits}f})"
