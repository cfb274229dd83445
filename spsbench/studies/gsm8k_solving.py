"""Solve one problem under one method, and measure it.

solve_problem(Gsm8kTrial(7, "direct", "openai/local", 1), problem, model, StudyLimits())
    ->  Gsm8kResult(passed=True, ...)
"""

from __future__ import annotations

import functools
from dataclasses import asdict
from types import ModuleType

from njrt.models.model import Model
from njrt.models.scripted import Scripted
from spsbench.methods import METHODS, Method
from spsbench.perfect import make_perfect_model
from spsbench.results import Gsm8kResult, Gsm8kTrial
from spsbench.script import CaseScript, make_manual_replies
from spsbench.studies.gsm8k_problems import Problem
from spsbench.studies.study import StudyLimits, run_study
from spsbench.suite import load_manual_program, load_natural_program


def solve_problem(
    trial: Gsm8kTrial, problem: Problem, model: Model | None, limits: StudyLimits
) -> Gsm8kResult:
    """Solve a problem; without a model, a perfect script answers."""
    method = METHODS[trial.method]
    program = load_gsm8k_program(method.file)
    played = run_study(
        lambda: program.solve(problem.question),
        model or make_gsm8k_model(problem, method),
        method,
        limits,
    )
    found = played.value if isinstance(played.value, int | float) else None
    return Gsm8kResult(
        **asdict(trial),
        **asdict(played.measures),
        passed=problem.is_solved_by(found),
        found=found,
        ending=played.ending,
        error=played.error,
        started=played.started,
    )


@functools.cache
def load_gsm8k_program(file: str) -> ModuleType:
    """Return the manual program, or the natural one."""
    return load_manual_program("gsm8k") if file == "manual.py" else load_natural_program("gsm8k")


def make_gsm8k_model(problem: Problem, method: Method) -> Model:
    """Return a model that knows the answer, to measure the time of our own code."""
    lines = CaseScript((str(problem.answer),), (f"expression = {str(problem.answer)!r}",))
    if not method.is_natural:
        return Scripted(make_manual_replies(lines))
    return make_perfect_model(lines, method.effects)
