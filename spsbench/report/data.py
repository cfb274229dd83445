"""The combined data of all results files: trials by setting.

    collect_data({"local.jsonl": results, "other.jsonl": results})
        ReportData(trials={Setting("openai/local"): (TrialResult(...), ...)}, ...)

Of two lines about the same trial, the later one counts. Trials that a limit on cost cut off, or
that got no reply of the model's server, do not count; a remark gives their number. Results of two
versions of a program are never reported together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from njc.project.report import format_count
from spsbench.methods import METHODS
from spsbench.report.measures import Setting
from spsbench.results import (
    BenchmarkRun,
    InputError,
    Results,
    Trial,
    TrialResult,
)
from spsbench.suite import choose_program_file


@dataclass(frozen=True, slots=True)
class ReportData:
    """The data of a report."""

    trials: Mapping[Setting, tuple[TrialResult, ...]]
    runs: Mapping[Setting, tuple[BenchmarkRun, ...]]
    remarks: tuple[str, ...]


def collect_data(files: Mapping[str, Results]) -> ReportData:
    """Combine the results of all files; `InputError` names files that do not go together."""
    trials: dict[Setting, dict[Trial, TrialResult]] = {}
    runs: dict[Setting, list[BenchmarkRun]] = {}
    remarks: list[str] = []
    versions: dict[str, tuple[str, str]] = {}
    for name, found in files.items():
        remarks += (f"{name}: {remark}" for remark in found.remarks)
        started, finished = found.select(BenchmarkRun), found.select(TrialResult)
        temperatures = {run.model: run.temperature for run in started}
        for run in started:
            runs.setdefault(Setting(run.model, run.temperature), []).append(run)
        for result in finished:
            setting = Setting(result.model, temperatures.get(result.model))
            if result.is_final:
                refuse_other_version(result, name, versions)
                trials.setdefault(setting, {})[result.trial] = result
        if cut := sum(result.ending == "cost limit" for result in finished):
            remarks.append(
                f"{name}: {format_count(cut, 'trial')} cut off by the limit on cost, left out"
            )
        if failed := sum(result.is_server_failure for result in finished):
            remarks.append(
                f"{name}: {format_count(failed, 'trial')} without a reply of the server, left out"
            )
    return ReportData(
        {setting: tuple(results.values()) for setting, results in trials.items()},
        {setting: tuple(started) for setting, started in runs.items()},
        tuple(remarks),
    )


def refuse_other_version(
    result: TrialResult, name: str, versions: dict[str, tuple[str, str]]
) -> None:
    """Raise `InputError` if an earlier result is from another version of the same program.

    `versions` holds the digest of each program so far, with the file of its first result.
    """
    method = METHODS.get(result.method)
    if method is None:
        return
    program = f"{result.program}/{choose_program_file(result.program, method.file)}"
    digest, first = versions.setdefault(program, (result.digest, name))
    if digest != result.digest:
        places = name if name == first else f"{first} and {name}"
        raise InputError(
            f"{places}: results of two versions of {program} or its checks; report them apart"
        )
