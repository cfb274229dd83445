"""The lines of an export.

    RepairRecord(problem="quixbugs/gcd", buggy=..., failing_test=..., trace=..., fix=..., tests=...)
    EffectRecord(place="shop.njpy:12", instruction=..., before={...}, effect=..., after={...})

Not exported: fixes that no longer pass, replies without a rationale, refused effects, runs that
failed or have no states in the trace, questions of `njrt.llm`, and secrets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from njc.debug.timeline.steps import apply_changes
from njc.debug.trace_lines import BeganLine, EndedLine, PerformedLine, TraceLine
from njrt.values.rendering.redaction import REDACTED, Redactor, classify_name, redact_shapes
from spsbench.repair.problems import RepairProblem
from spsbench.repair.program_reply import complete_program
from spsbench.repair.prompt import annotate_program
from spsbench.repair.results import RepairResult
from spsbench.repair.testing import FailedTests, PassedTests, TestOutcome

RunTests = Callable[[str, str], TestOutcome]
"""Runs the tests of a program, with the steps of a failure."""


def _means(meaning: str) -> Any:
    """Return a field with its meaning, to be shown in the data card."""
    return field(metadata={"meaning": meaning})


@dataclass(frozen=True, slots=True)
class RepairRecord:
    """A repair that passed."""

    problem: str = _means("data set and name")
    buggy: str = _means("the program with the mistake")
    failing_test: str = _means(
        "the first statement of the tests that fails; empty if the program cannot be run"
    )
    failure: str = _means("the values that it compared, or the exception")
    trace: str = _means("the buggy program with the steps of this statement as comments")
    rationale: str = _means("the model's text before the fix")
    fix: str = _means("the corrected program, which passes `tests`")
    tests: str = _means("Python that raises nothing if a program is right")
    model: str = _means("that wrote rationale and fix")
    condition: str = _means("the information for the model: trace, test, neither or rationale")
    sample: int = _means("the number of the repair, from 1")


@dataclass(frozen=True, slots=True)
class EffectRecord:
    """One effect of a live block."""

    place: str = _means("file and line of the block")
    model: str = _means("that requested the effect")
    instruction: str = _means("the prompt")
    before: Mapping[str, str] = _means("the variables that the block sees, as texts")
    effect: Mapping[str, Any] = _means("the effect that the model requested")
    after: Mapping[str, str] = _means("the variables after the effect")
    result: str = _means("the answer to the model, or how the effect ended the block")
    ending: str = _means("how the run of the block ended")


def list_fields(record: type[RepairRecord | EffectRecord]) -> list[tuple[str, str]]:
    """Return the fields of a record type, with their meanings."""
    return [(each.name, each.metadata["meaning"]) for each in fields(record)]


def list_repair_records(
    results: Iterable[RepairResult], problems: Mapping[str, RepairProblem], run: RunTests
) -> Iterator[RepairRecord]:
    """Yield the repairs that pass, without repeated fixes of a problem."""
    seen: set[tuple[str, str]] = set()
    for result in results:
        problem = problems.get(result.problem)
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
    """A run of a block in a trace (state: its variables, and its effects with empty `ending`)."""

    began: BeganLine
    state: dict[str, str]
    effects: list[EffectRecord] = field(default_factory=list)

    def add(self, performed: PerformedLine, changes: Mapping[str, str | None]) -> None:
        """Apply the changes of an effect, and keep the effect if it was not refused."""
        before, self.state = self.state, apply_changes(self.state, changes)
        if performed.kind != "refusal":
            effect = EffectRecord(
                self.began.place,
                self.began.model,
                "\n".join(self.began.instruction),
                before,
                performed.effect,
                self.state,
                performed.result,
                ending="",
            )
            self.effects.append(effect)


def list_effect_records(lines: Iterable[TraceLine]) -> Iterator[EffectRecord]:
    """Yield the effects of runs that ended without a runtime error, run by run."""
    runs: dict[str, _BlockTrace] = {}
    for line in lines:
        match line:
            case BeganLine(run=run, state=state) if state is not None and line.instruction:
                runs[run] = _BlockTrace(line, apply_changes({}, state))
            case PerformedLine(run=run, changes=changes) if run in runs and changes is not None:
                runs[run].add(line, changes)
            case EndedLine(run=run) if run in runs:
                block = runs.pop(run)
                if line.outcome != "failed":
                    for effect in block.effects:
                        yield replace(effect, ending=line.outcome)


# ── no secret is exported ─────────────────────────────────────────────────────────────────────────
# Traces are redacted unless the program sets `redact=False`; records are always redacted, by the
# rules of `njrt.values.rendering.redaction`. Fixes are unchanged: a changed fix might not pass the
# tests.


def has_secret(record: RepairRecord) -> bool:
    """Return whether any text in a record has the shape of a secret."""
    texts = [value for value in asdict(record).values() if isinstance(value, str)]
    return any(redact_shapes(text) != text for text in texts)


def redact_effect(record: EffectRecord) -> EffectRecord:
    """Return the record without values named like secrets and without texts shaped like secrets."""
    redactor = Redactor()
    for variables in (record.before, record.after):
        for name, text in variables.items():
            if classify_name(name) == "secret":
                redactor.add_known(_find_value(text).strip("'\""))
    return replace(
        record,
        instruction=redactor.redact(record.instruction),
        before=_redact_variables(record.before, redactor),
        effect=_redact_json(record.effect, redactor),
        after=_redact_variables(record.after, redactor),
        result=redactor.redact(record.result),
    )


def _find_value(text: str) -> str:
    """Return the value of a variable as a trace writes it, such as `str = 'hunter2'`."""
    return text.partition(" = ")[2] or text


def _redact_variables(variables: Mapping[str, str], redactor: Redactor) -> dict[str, str]:
    return {
        name: redactor.redact(
            text.replace(_find_value(text), REDACTED) if classify_name(name) == "secret" else text
        )
        for name, text in variables.items()
    }


def _redact_json(value: Any, redactor: Redactor) -> Any:
    match value:
        case str():
            return redactor.redact(value)
        case list():
            return [_redact_json(item, redactor) for item in value]
        case dict():
            return {key: _redact_json(item, redactor) for key, item in value.items()}
        case _:
            return value
