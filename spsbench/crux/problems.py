"""The problems of CruxEval, from the file that its repository publishes.

    read_problems(lines)   ->  {"sample_0": CruxProblem("sample_0", "def f(nums): ...", "[1, 1]", "[(2, 1)]"), ...}

The format is that of `data/cruxeval.jsonl` in github.com/facebookresearch/cruxeval: a function `f`, the arguments of
a call, and what it returns, as Python expressions. Files with functions of one's own have the same fields.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from njrt.typed_json import InvalidJsonError, from_json
from spsbench.states.programs import record_call
from spsbench.states.trace import StateTrace

MAX_STATES = 1_000
"""Of the trace of one problem; those of CruxEval have up to 627."""


class BadProblemError(ValueError):
    """A line of a file of problems cannot be used; names the line."""


@dataclass(frozen=True, slots=True)
class CruxProblem:
    """A function `f`, a call and its result."""

    id: str
    code: str
    input: str
    """The arguments as in a call: `[1, 2], sep=','`."""
    output: str

    @property
    def call(self) -> str:
        """The call as an expression."""
        return f"f({self.input})"


def read_problems(lines: Iterable[str]) -> dict[str, CruxProblem]:
    """The problems of a file, by id; `BadProblemError` names a line that is not one."""
    problems: dict[str, CruxProblem] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            problem: CruxProblem = from_json(line, CruxProblem)
        except InvalidJsonError as error:
            raise BadProblemError(f"line {number} is not a problem of CruxEval: {error}") from None
        if problem.id in problems:
            raise BadProblemError(f"line {number} has the id {problem.id} a second time")
        problems[problem.id] = problem
    if not problems:
        raise BadProblemError("the file has no problems")
    return problems


def sample_problems(
    problems: Mapping[str, CruxProblem], size: int | None, seed: int
) -> list[CruxProblem]:
    """A random sample without replacement, in random order; a larger one begins with a smaller one of the same seed."""
    shuffled = sorted(problems.values(), key=lambda problem: problem.id)
    random.Random(seed).shuffle(shuffled)
    return shuffled[:size]


def trace_problem(problem: CruxProblem) -> StateTrace:
    """The states of the call of a problem. The data set is trusted: its code runs in this process."""
    found = record_call(problem.code, problem.call, max_states=MAX_STATES)
    if found.error is not None:
        raise BadProblemError(f"{problem.id} raises {type(found.error).__name__}: {found.error}")
    return found.trace
