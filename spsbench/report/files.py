"""The files of a report: read results files, build the report, and compare it with a folder.

    files = build_report_files([Path("local.jsonl"), Path("graph.jsonl")], out)
    files                                  {"report.md": ..., "report.txt": ..., ...}
    find_file_differences(files, out)      the files of the folder that are missing or differ

Random numbers have a fixed seed and the clock is not used, so the same results give the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

from spsbench.journal import compute_digest
from spsbench.report.data import ReportData, collect_data
from spsbench.report.measures import BOOTSTRAP_ROUNDS, SEED, Uniform
from spsbench.report.results_report import describe_machines, describe_versions
from spsbench.report.writing import build_report, render_report, render_report_text
from spsbench.results import split_lines
from spsbench.suite import TASK_NAMES, load_task

NO_TEMPERATURE = "no temperature set: the vendor's default, or 0 for models of plain text"


def make_uniform() -> Uniform:
    """Return the random number generator of a report, at its start."""
    return Random(SEED).random


def build_report_files(paths: Sequence[Path], out: Path | None) -> dict[str, str]:
    """Return the files of the report by name; only the text if no folder is given."""
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in paths}
    data = collect_data({path.name: split_lines(text) for path, text in texts.items()})
    plain = [name for name in TASK_NAMES if not load_task(name).needs_python]
    facts = [*list_run_facts(data), *list_source_facts(texts, out)]
    report = build_report(data, TASK_NAMES, plain, make_uniform)
    return (
        {"report.txt": render_report_text(report, facts)}
        if out is None
        else render_report(report, facts)
    )


def find_file_differences(files: Mapping[str, str], out: Path) -> list[str]:
    """Return the report's files that are missing or differ."""
    return [
        f"{out / name}"
        for name, text in files.items()
        if not (out / name).is_file() or (out / name).read_text("utf-8") != text
    ]


def list_run_facts(data: ReportData) -> Iterator[tuple[str, str]]:
    """Yield the places, times and limits of the trials, as recorded in the results."""
    for setting, runs in data.runs.items():
        limits = dict.fromkeys(
            f"{run.limits.seconds:g} s, {run.limits.effects} effects and {run.limits.calls} model"
            " calls a block"
            for run in runs
        )
        versions = dict.fromkeys(map(describe_versions, runs))
        trials = data.trials.get(setting, ())
        dates = sorted({trial.started[:10] for trial in trials})
        temperature = "" if setting.temperature is not None else f", {NO_TEMPERATURE}"
        yield "Model", f"{setting}{temperature}"
        yield "Trials", f"{len(trials)}, {max(run.repeats for run in runs)} repeats requested"
        if dates:
            yield "Measured", dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
        yield "Machine", describe_machines(runs, "trials")
        yield "Limits of a trial", "; ".join(limits)
        yield "Versions", "; ".join(versions)
    if data.remarks:
        yield "Remarks", "; ".join(data.remarks)
    yield "Interval", f"bootstrap of {BOOTSTRAP_ROUNDS:,} rounds, seed {SEED}"


def list_source_facts(texts: Mapping[Path, str], out: Path | None) -> Iterator[tuple[str, str]]:
    """Yield the results files used by the report, and the command that rebuilds it."""
    for path, text in texts.items():
        digest = compute_digest(text.encode())
        yield "Results", f"{path.name}, {len(split_lines(text)):,} lines, sha256 {digest}"
    if out is not None:
        names = " ".join(Path(os.path.relpath(path, out)).as_posix() for path in texts)
        yield "Made by, in the folder of this report", f"spsbench report {names} --out ."
