"""Have one problem solved under one method, and measure what it takes.

solve(Solving(7, "direct", "openai/local", 1), problem, model, Limits())     ->  Solved(passed=True, ...)
"""

from __future__ import annotations

import functools
from datetime import UTC, datetime
from types import ModuleType

from njrt.models.model import Model
from njrt.models.scripted import Scripted
from spsbench.methods import METHODS, Method
from spsbench.perfect import make_perfect_model
from spsbench.script import CaseScript, make_manual_replies
from spsbench.studies.gsm8k_problems import Problem
from spsbench.studies.gsm8k_results import Gsm8kResult, Gsm8kTrial
from spsbench.studies.study import StudyLimits, run_study
from spsbench.suite import load_manual_program, load_natural_program


def solve_problem(
    solving: Gsm8kTrial, problem: Problem, model: Model | None, limits: StudyLimits
) -> Gsm8kResult:
    """Have a problem solved; without a model, a script knows the answer."""
    method = METHODS[solving.method]
    program = load_gsm8k_program(method.file)
    started = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    played = run_study(
        lambda: program.solve(problem.question),
        model or make_gsm8k_model(problem, method),
        method,
        limits,
    )
    found = played.value if isinstance(played.value, int | float) else None
    return Gsm8kResult(
        solving,
        problem.is_solved_by(found),
        found,
        played.ending,
        played.error,
        played.measures,
        started,
    )


@functools.cache
def load_gsm8k_program(file: str) -> ModuleType:
    """The manual program, or the natural one."""
    return load_manual_program("gsm8k") if file == "manual.py" else load_natural_program("gsm8k")


def make_gsm8k_model(problem: Problem, method: Method) -> Model:
    """A model that knows the answer, for the measure of our own time."""
    lines = CaseScript((str(problem.answer),), (f"expression = {str(problem.answer)!r}",))
    if method.file == "manual.py":
        return Scripted(make_manual_replies(lines))
    return make_perfect_model(lines, method.effects)
