"""Everything that results files hold, put together: trials by setting, and the case studies.

    gathered({"local.jsonl": lines, "graph.jsonl": lines})    Data(trials={Setting("openai/local"): (...)}, asked=(...), ...)

A file may hold lines of any kind. Where two lines tell of the same trial, the later one counts. Trials that
were cut off by a limit on cost are no results; how many there are is a remark.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from spsbench.report.measures import Setting
from spsbench.results import (
    BenchmarkRun,
    DamagedResultsError,
    Trial,
    TrialResult,
    TrialUsage,
    read_results,
)
from spsbench.studies.graph_results import GraphResult, parse_graph_result
from spsbench.studies.gsm8k_results import Gsm8kResult, parse_gsm8k_result

StudyEntry = TypeVar("StudyEntry")


@dataclass(frozen=True, slots=True)
class ReportData:
    """What there is to report."""

    trials: Mapping[Setting, tuple[TrialResult, ...]]
    runs: Mapping[Setting, tuple[BenchmarkRun, ...]]
    asked: tuple[GraphResult, ...]
    solved: tuple[Gsm8kResult, ...]
    remarks: tuple[str, ...]


def collect_data(files: Mapping[str, Sequence[str]]) -> ReportData:
    """Put the lines of all files together; `DamagedResultsError` names a line that cannot be read."""
    trials: dict[Setting, dict[Trial, TrialResult]] = {}
    runs: dict[Setting, list[BenchmarkRun]] = {}
    asked: dict[object, GraphResult] = {}
    solved: dict[object, Gsm8kResult] = {}
    remarks: list[str] = []
    for name, lines in files.items():
        try:
            found = read_results(filter_kinds(lines, "run", "trial"))
            asked |= {
                each.asking: each for each in read_study_entries(lines, "graph", parse_graph_result)
            }
            solved |= {
                each.solving: each
                for each in read_study_entries(lines, "gsm8k", parse_gsm8k_result)
            }
        except DamagedResultsError as damage:
            raise DamagedResultsError(f"{name}: {damage}") from None
        remarks += (f"{name}: {remark}" for remark in found.remarks)
        temperatures = {run.model: run.temperature for run in found.runs}
        for run in found.runs:
            runs.setdefault(Setting(run.model, run.temperature), []).append(run)
        for result in found.results:
            model = result.trial.model
            setting = Setting(model, temperatures.get(model))
            if result.is_final:
                trials.setdefault(setting, {})[result.trial] = result
        if cut := sum(not result.is_final for result in found.results):
            remarks.append(
                f"{name}: {cut} trials were cut off by the limit on cost and are left out"
            )
    return ReportData(
        {setting: tuple(results.values()) for setting, results in trials.items()},
        {setting: tuple(started) for setting, started in runs.items()},
        tuple(asked.values()),
        tuple(solved.values()),
        tuple(remarks),
    )


def filter_kinds(lines: Iterable[str], *kinds: str) -> Iterator[str]:
    """The lines of these kinds, and those of none; empty ones for all others, so that numbers stay."""
    for line in lines:
        yield line if read_line_kind(line) in (*kinds, None) else "\n"


def read_line_kind(line: str) -> str | None:
    """The kind that a line says it is of, if it is a line of ours."""
    try:
        written = json.loads(line)
    except ValueError:
        return None
    match written:
        case {"kind": str(kind)}:
            return kind
        case _:
            return None


def read_study_entries(
    lines: Iterable[str], kind: str, entry_of: Callable[[Mapping[str, Any]], StudyEntry]
) -> Iterator[StudyEntry]:
    """The entries of one kind of line of a case study."""
    for number, line in enumerate(lines, 1):
        if read_line_kind(line) == kind:
            try:
                yield entry_of(json.loads(line))
            except (LookupError, TypeError, ValueError) as error:
                raise DamagedResultsError(
                    f"line {number} is damaged ({error}); mend or delete this line"
                ) from None


def to_trial_result(solved: Gsm8kResult) -> TrialResult:
    """A problem of GSM8K as a trial, whose only check is its answer."""
    solving, took = solved.solving, solved.measures
    return TrialResult(
        Trial(f"problem {solving.problem}", solving.method, solving.model, solving.repeat),
        "raised" if solved.ending == "raised" else "finished",
        {"the answer is right": solved.passed},
        build_seconds=0.0,
        run_seconds=took.seconds,
        blocks=1,
        effects=took.effects,
        calls=took.calls,
        build_calls=0,
        usage=TrialUsage(took.input_tokens, took.cached_tokens, took.output_tokens),
        build_usage=TrialUsage(),
        cost=took.cost,
        failure=None,
        started=solved.started,
    )
