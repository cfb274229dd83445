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
from spsbench.perfect import perfect
from spsbench.script import Lines, said_to_manual
from spsbench.studies.gsm8k_problems import Problem
from spsbench.studies.gsm8k_results import Solved, Solving
from spsbench.studies.study import Limits, run_study
from spsbench.suite import manual_of, natural_of


def solve(solving: Solving, problem: Problem, model: Model | None, limits: Limits) -> Solved:
    """Have a problem solved; without a model, a script knows the answer."""
    method = METHODS[solving.method]
    program = program_of(method.file)
    started = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    played = run_study(
        lambda: program.solve(problem.question),
        model or perfect_model(problem, method),
        method,
        limits,
    )
    found = played.value if isinstance(played.value, int | float) else None
    return Solved(
        solving,
        problem.is_solved_by(found),
        found,
        played.ending,
        played.error,
        played.measures,
        started,
    )


@functools.cache
def program_of(file: str) -> ModuleType:
    """The manual program, or the natural one."""
    return manual_of("gsm8k") if file == "manual.py" else natural_of("gsm8k")


def perfect_model(problem: Problem, method: Method) -> Model:
    """A model that knows the answer, for the measure of our own time."""
    lines = Lines((str(problem.answer),), (f"expression = {str(problem.answer)!r}",))
    if method.file == "manual.py":
        return Scripted(said_to_manual(lines))
    return perfect(lines, method.effects)
