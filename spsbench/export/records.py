"""The lines of an export.

    RepairRecord(problem="quixbugs/gcd", buggy=..., failing_test=..., trace=..., rationale=..., fix=..., tests=...)
    EffectRecord(place="shop.njpy:12", instruction=..., before={"spent": "int = 3"}, effect=..., after={...})

    list_repair_records(results, problems, run)      replies whose fix passes when it is tested again
    list_effect_records(trace_lines)         effects that were performed, in runs that did not fail

Not exported: fixes that no longer pass, replies without a rationale, effects that were refused, runs that failed or that
a trace holds without states, and questions of `njrt.llm`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from njc.evaluation.repair.reply import complete_program
from njc.evaluation.repair.testing import FailedTests, PassedTests, TestOutcome
from njc.runs.timeline.trace_lines import BeganLine, EndedLine, PerformedLine, TraceLine
from spsbench.repair.problems import RepairProblem
from spsbench.repair.prompt import annotate_program
from spsbench.repair.results import RepairResult

RunTests = Callable[[str, str], TestOutcome]
"""Runs the tests of a program, with the steps of a failure."""


@dataclass(frozen=True, slots=True)
class RepairRecord:
    """A repair that passed."""

    problem: str
    buggy: str
    failing_test: str
    failure: str
    """The two values that the test compared, or the exception."""
    trace: str
    """The buggy program, with the steps of the failing run as comments."""
    rationale: str
    fix: str
    """The whole program, with what the reply left out."""
    tests: str
    model: str
    condition: str
    """What the model was shown (`spsbench repair`)."""
    sample: int


@dataclass(frozen=True, slots=True)
class EffectRecord:
    """One effect of a live block."""

    place: str
    model: str
    instruction: str
    before: Mapping[str, str]
    """The variables that the block sees, as the prompt renders them on one line."""
    effect: Mapping[str, Any]
    after: Mapping[str, str]
    result: str
    ending: str
    """How the run of the block ended."""


def list_repair_records(
    results: Iterable[RepairResult], problems: Sequence[RepairProblem], run: RunTests
) -> Iterator[RepairRecord]:
    """Yield the repairs that pass, each fix of a problem once."""
    by_name = {problem.name: problem for problem in problems}
    seen: set[tuple[str, str]] = set()
    for result in results:
        problem = by_name.get(result.problem)
        last = result.replies[-1] if result.replies else None
        if not result.passed or problem is None or last is None or not last.rationale:
            continue
        fix = complete_program(last.code, problem.code)
        if (problem.name, fix) in seen or not isinstance(run(fix, problem.tests), PassedTests):
            continue
        seen.add((problem.name, fix))
        failure = run(problem.code, problem.tests)
        if not isinstance(failure, FailedTests):
            continue
        yield RepairRecord(
            problem.name,
            problem.code,
            failure.test,
            failure.problem,
            annotate_program(problem.code, failure.trace) or "",
            last.rationale,
            fix,
            problem.tests,
            result.model,
            result.condition,
            result.sample,
        )


@dataclass(slots=True)
class _BlockTrace:
    """A run of a block in a trace (state: its variables, its effects)."""

    began: BeganLine
    state: dict[str, str]
    effects: list[tuple[dict[str, str], PerformedLine, dict[str, str]]] = field(
        default_factory=list
    )


def list_effect_records(lines: Iterable[TraceLine]) -> Iterator[EffectRecord]:
    """Yield the effects of the runs that ended without an error of the runtime, run by run."""
    runs: dict[str, _BlockTrace] = {}
    for line in lines:
        match line:
            case BeganLine(run=run, state=state) if state is not None and line.instruction:
                runs[run] = _BlockTrace(line, _apply({}, state))
            case PerformedLine(run=run, changes=changes) if run in runs and changes is not None:
                block = runs[run]
                before = block.state
                block.state = _apply(before, changes)
                if line.kind != "refusal":
                    block.effects.append((before, line, block.state))
            case EndedLine(run=run) if run in runs:
                block = runs.pop(run)
                if line.outcome != "failed":
                    yield from _make_records(block, line.outcome)
            case _:
                continue


def _make_records(block: _BlockTrace, ending: str) -> Iterator[EffectRecord]:
    began = block.began
    for before, performed, after in block.effects:
        yield EffectRecord(
            began.place,
            began.model,
            "\n".join(began.instruction),
            before,
            performed.effect,
            after,
            performed.result,
            ending,
        )


def _apply(state: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    """Return the variables after some changes; None unbinds one."""
    merged = {**state, **changes}
    return {name: text for name, text in merged.items() if text is not None}
