"""Score answers: pass@k, and whole generation files in CruxEval's format.

    score_generations({"sample_0": ["[1]", "[2]"], ...}, problems, "output", judge)
        ->  GenerationScores({"sample_0": (True, False), ...}, pass_at_1=..., pass_at_5=...)

The rules follow `evaluation/` in github.com/facebookresearch/cruxeval, so that its published scores can be
reproduced: answers that repeat the call of an output problem, or contain no call for an input problem, are not
counted; if none of the other answers is right, all are wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import MinLen

from njrt.dataclass_json import InvalidJsonError, from_json
from spsbench.crux.judge import Judge
from spsbench.crux.problems import CruxProblem
from spsbench.report.by_problem import estimate_pass_at_k
from spsbench.results import InputError

CruxTask = Literal["output", "input"]
AnswersByProblem = Mapping[str, Annotated[Sequence[str], MinLen(1)]]


def compute_pass_at_k(answers: int, right: int, k: int) -> float:
    """Return pass@k as CruxEval counts it: 1.0 even with fewer than `k` answers."""
    return 1.0 if answers - right < k else estimate_pass_at_k(answers, right, k)


@dataclass(frozen=True, slots=True)
class PublishedGenerations:
    """A generation file; it has scores if CruxEval's scorer wrote it."""

    raw_generations: AnswersByProblem
    raw_scored_generations: Mapping[str, Sequence[bool]] | None = None
    pass_at_1: float | None = None
    pass_at_5: float | None = None


@dataclass(frozen=True, slots=True)
class GenerationScores:
    """Which answers are right, and pass@k in per cent."""

    passed: Mapping[str, tuple[bool, ...]]
    pass_at_1: float
    pass_at_5: float | None
    """None if a problem has fewer than five answers."""


def read_generations(text: str) -> PublishedGenerations:
    """Read generations, with scores or with only the answers by problem."""
    try:
        found: PublishedGenerations = from_json(text, PublishedGenerations)
        return found
    except InvalidJsonError as error:
        try:
            return PublishedGenerations(from_json(text, AnswersByProblem))
        except InvalidJsonError:
            raise InputError(f"not a file of generations: {error}") from None


def score_generations(
    generations: Mapping[str, Sequence[str]],
    problems: Mapping[str, CruxProblem],
    task: CruxTask,
    judge: Judge,
    count: Callable[[int], object] = lambda done: None,
) -> GenerationScores:
    """Score the answers to each problem; `count(1)` is called after each problem."""
    if unknown := generations.keys() - problems.keys():
        raise InputError(f"the problems have no {min(unknown)}; is this their file?")
    if missing := problems.keys() - generations.keys():
        raise InputError(f"the generations have no answers to {min(missing)}")
    passed = {}
    for name, problem in problems.items():
        passed[name] = score_answers(generations[name], problem, task, judge)
        count(1)
    counts = [(len(found), sum(found)) for found in passed.values()]
    # Summed in the same way as by CruxEval's scorer, to match its last digit.
    first, fifth = (
        sum(compute_pass_at_k(*count, k) for count in counts) / len(counts) * 100 for k in (1, 5)
    )
    has_five = all(len(answers) >= 5 for answers in generations.values())
    return GenerationScores(passed, first, fifth if has_five else None)


def score_answers(
    answers: Sequence[str], problem: CruxProblem, task: CruxTask, judge: Judge
) -> tuple[bool, ...]:
    """Return whether each counted answer is right; if none is, all answers are wrong."""
    counted = [
        each for each in answers if (problem.call not in each if task == "output" else "f(" in each)
    ]
    passed = tuple(judge.accepts(problem.code, problem.output, answer) for answer in counted)
    return passed if any(passed) else (False,) * len(answers)
