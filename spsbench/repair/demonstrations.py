"""Right repairs from earlier turns, shown in the conversation before the question.

    read_demonstrations(results, problems)          one for each problem with a repair that passed
    choose_similar(demonstrations, problem)         the two with the most similar programs

This is a turn of self-training as in NExT (Ni et al., 2024, arXiv:2404.14662), with prompts instead
of weights: repairs that pass their tests are shown, with their rationales, to the same model in the
next turn.
"""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from njc.measure.repair.testing import FailedTests, run_tests
from spsbench.repair.problems import RepairProblem
from spsbench.repair.prompt import make_repair_prompt
from spsbench.repair.results import RepairResult

SHOWN = 2
"""The number of demonstrations shown for a repair."""


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A right repair: the question, and the reply with the repaired program."""

    problem: str
    code: str
    """The buggy program."""
    question: str
    reply: str


@dataclass(frozen=True, slots=True)
class Turn:
    """The right repairs of an earlier turn, and the head of the SHA-256 of its file."""

    digest: str
    demonstrations: tuple[Demonstration, ...]


def read_demonstrations(
    results: Iterable[RepairResult],
    problems: Mapping[str, RepairProblem],
    seconds: float,
    has_steps: bool = True,
) -> tuple[Demonstration, ...]:
    """Return a demonstration per repaired problem: its shortest right repair, maybe with steps."""
    right: dict[str, tuple[str, str]] = {}
    for result in results:
        if not result.passed or result.problem not in problems:
            continue
        reply = result.replies[-1]
        repair = reply.rationale, reply.code.strip()
        before = right.get(result.problem)
        if before is None or (len("".join(repair)), repair) < (len("".join(before)), before):
            right[result.problem] = repair
    with ThreadPoolExecutor(2) as pool:
        questions = pool.map(
            partial(_ask_about, seconds=seconds, has_steps=has_steps),
            map(problems.__getitem__, sorted(right)),
        )
        return tuple(
            Demonstration(
                name,
                problems[name].code,
                question,
                "\n\n".join(filter(None, (rationale, f"```python\n{code}\n```"))),
            )
            for name, question in zip(sorted(right), questions, strict=True)
            for rationale, code in [right[name]]
            if question
        )


def _ask_about(problem: RepairProblem, seconds: float, has_steps: bool) -> str:
    outcome = run_tests(problem.code, problem.tests, seconds, traces=has_steps)
    if not isinstance(outcome, FailedTests):
        return ""
    return make_repair_prompt("trace" if has_steps else "test", problem.code, outcome)


def choose_similar(
    demonstrations: Sequence[Demonstration], problem: RepairProblem
) -> tuple[Demonstration, ...]:
    """Return the demonstrations sharing most tokens with a program, not its own, the best last."""
    wanted = _list_tokens(problem.code)

    def measure_likeness(one: Demonstration) -> tuple[float, str]:
        found = _list_tokens(one.code)
        return len(wanted & found) / max(1, len(wanted | found)), one.problem

    others = [one for one in demonstrations if one.problem != problem.name]
    return tuple(sorted(others, key=measure_likeness)[-SHOWN:])


def _list_tokens(code: str) -> frozenset[str]:
    """Return a program's names, operators and constants, or words if Python cannot tokenize it."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
    except (tokenize.TokenError, SyntaxError):
        return frozenset(code.split())
    return frozenset(token.string for token in tokens if token.string.strip())
