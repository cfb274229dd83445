"""CruxEval's problems, read from the file in its repository.

    read_problems(file)   ->  {"sample_0": CruxProblem("sample_0", "def f(nums): ...", "[1, 1]", "[(2, 1)]"), ...}, digest

Each line of `data/cruxeval.jsonl` in github.com/facebookresearch/cruxeval has a function `f`, the arguments of a
call, and its result, as Python expressions. Files with other functions must have the same fields.
"""

from __future__ import annotations

import ast
import io
import random
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path

from njrt.dataclass_json import validate_value
from spsbench.journal import naming, read_data_file
from spsbench.results import InputError, parse_json_lines
from spsbench.sampling import divide_by_size, order_by_strata
from spsbench.states.programs import record_call
from spsbench.states.recording import StateLimitError
from spsbench.states.trace import StateTrace
from spsbench.states.values import render_value

STRATA = "quarter of the functions by length"
"""The property used to stratify samples."""
MAX_STATES = 1_000
"""The maximum length of one problem's trace; CruxEval's traces have up to 627 states."""
_turn = threading.Lock()
"""Only one thread records at a time, because modules belong to the process."""


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


def read_problems(file: Path) -> tuple[dict[str, CruxProblem], str]:
    """Return a file's problems by id, and its digest; `InputError` names the file and an invalid line."""
    problems: dict[str, CruxProblem] = {}

    def add(number: int, row: object) -> None:
        problem: CruxProblem = validate_value(row, CruxProblem)
        if problem.id in problems:
            raise InputError(f"line {number} has the id {problem.id} a second time")
        problems[problem.id] = problem

    lines, digest = read_data_file(file)
    with naming(file):
        list(parse_json_lines(lines, add, "not a problem of CruxEval"))
    return problems, digest


def sample_problems(
    problems: Mapping[str, CruxProblem], size: int | None, seed: int
) -> list[CruxProblem]:
    """Return a random sample without replacement, in random order, stratified by function length.

    A larger sample of the same seed starts with the smaller one.
    """
    sizes = {name: len(problem.code) for name, problem in problems.items()}
    order = order_by_strata(divide_by_size(sizes, 4), random.Random(seed).random)
    return [problems[name] for name in order[:size]]


def trace_problem(problem: CruxProblem) -> StateTrace:
    """Return the states of a problem's call, up to its return.

    The data set is trusted: its code runs in this process. Raises InputError if the call raises, runs too long, runs
    none of the problem's code, or returns a different result.
    """
    with _turn, _without_terminal():
        try:
            found = record_call(
                problem.code, problem.call, max_states=MAX_STATES, ends_program=True
            )
        except (Exception, SystemExit) as raised:
            raise InputError(_describe_raise(problem, raised)) from None
    match found.error:
        case KeyboardInterrupt() as interrupt:
            raise interrupt
        case StateLimitError():
            raise InputError(f"{problem.id} has more than {MAX_STATES:,} states")
        case BaseException() as error:
            raise InputError(_describe_raise(problem, error))
    states = found.trace.states
    # Generators that the call leaves open are closed after it returns.
    ends = (n for n, state in enumerate(states) if (state.event, state.depth) == ("return", 0))
    end = next(ends, None)
    if end is None or found.trace.is_cut:
        raise InputError(f"{problem.id}: no run of its functions can be recorded")
    if not _has_result(problem, found.value, found.names):
        raise InputError(
            f"{problem.id} returns {render_value(found.value)}, and its output is {problem.output}"
        )
    return replace(found.trace, states=states[: end + 1])


@contextmanager
def _without_terminal() -> Iterator[None]:
    """Make standard input empty and discard output, as in the process that judges answers."""
    before, sys.stdin = sys.stdin, io.StringIO()
    try:
        with redirect_stdout(io.StringIO()):
            yield
    finally:
        sys.stdin = before


def _describe_raise(problem: CruxProblem, error: BaseException) -> str:
    return f"{problem.id} raises {type(error).__name__}: {error}"


def _has_result(problem: CruxProblem, value: object, names: dict[str, object]) -> bool:
    """Return whether the call returned the problem's result, which is evaluated with the program's names.

    Raises InputError if the result is not an expression, because no answer could be right.
    """
    try:
        try:
            expected = ast.literal_eval(problem.output)
        except (ValueError, TypeError):
            expected = eval(problem.output, dict(names))
        return bool(value == expected)
    except Exception as error:
        raise InputError(
            f"{problem.id}: its output {problem.output} cannot be read ({type(error).__name__}: {error}); write it as "
            "an expression, such as float('inf')"
        ) from None
