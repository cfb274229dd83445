"""Reports on results files, in Markdown whose tables are aligned, so that they read as text, too.

format_table(Table(("model", "passed"), [("local", "0.71")]))
report_files(REPORT, [Path("r.jsonl")], Path("r.md"), check=False)     writes the Markdown file

Random numbers have a fixed seed and the clock is not used, so the same results give the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import click

from spsbench.journal import compute_digest, read_results_file
from spsbench.results import Results, RunLine, group_by

RunT = TypeVar("RunT", bound=RunLine)
Facts = Iterable[tuple[str, str]]
"""Pairs of name and text: the place, time and settings of measurements."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts. The first `labels` columns name the row; the others are measurements."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    labels: int = 1
    title: str = ""
    notes: tuple[str, ...] = ()


def format_table(table: Table) -> str:
    """Return the table with its title and its notes; numbers are aligned to the right."""
    widths = [max(4, *map(len, cells)) for cells in zip(table.columns, *table.rows, strict=True)]
    rule = [
        "-" * width if column < table.labels else "-" * (width - 1) + ":"
        for column, width in enumerate(widths)
    ]

    def format_row(cells: Sequence[str]) -> str:
        padded = (
            cell.ljust(width) if column < table.labels else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return f"| {' | '.join(padded)} |"

    title = [f"### {table.title}"] if table.title else []
    grid = "\n".join(map(format_row, (table.columns, rule, *table.rows)))
    return "\n\n".join([*title, grid, *table.notes])


def format_facts(facts: Facts) -> str:
    """Return facts as a list."""
    return "\n".join(f"* {name}: {text}" for name, text in facts)


@dataclass(frozen=True, slots=True)
class ResultsReport:
    """How results of one kind are read and shown."""

    command: str
    kinds: tuple[type, ...]
    write: Callable[[Mapping[str, Results]], Iterator[str]]
    """Yields the paragraphs of the report on results, by the name of their file."""

    def render(self, paths: Sequence[Path], out: Path) -> str:
        """Return the report in Markdown; its last lines are the files, and how it was made."""
        found = {path.name: read_results_file(path, self.kinds) for path in paths}
        names = " ".join(Path(os.path.relpath(path, out.parent)).as_posix() for path in paths)
        sources = [
            ("Results", f"{path.name}, sha256 {compute_digest(path.read_bytes())}")
            for path in paths
        ]
        made_by = ("Made by", f"`spsbench {self.command} {names} --out {out.name}`")
        return "\n\n".join([*self.write(found), format_facts([*sources, made_by])]) + "\n"


def report_files(
    report: ResultsReport, results: Sequence[Path], out: Path | None, check: bool
) -> None:
    """Print the report, write it or, with `check`, compare it with the file."""
    text = report.render(results, out or Path("report.md"))
    if out is None:
        click.echo(text, nl=False)
    elif not check:
        out.write_text(text, encoding="utf-8", newline="\n")
    elif not out.is_file() or out.read_text(encoding="utf-8") != text:
        raise click.ClickException(f"{out} differs from the results")


def list_run_facts(
    runs: Sequence[RunT], noun: str, describe: Callable[[RunT, Sequence[RunT]], Facts]
) -> Iterator[tuple[str, str]]:
    """Yield facts about runs, model by model, with the machine and the dates.

    `describe` is called with a run, and all runs of its model.
    """
    for alike in group_by(runs, lambda run: run.model).values():
        found: dict[str, dict[str, None]] = {}
        for run in alike:
            dates = ("Versions", describe_versions(run)), ("Measured", run.started[:10])
            for name, text in (*describe(run, alike), *dates):
                found.setdefault(name, {})[text] = None
        yield from ((name, "; ".join(texts)) for name, texts in found.items())
        yield "Machine", describe_machines(alike, noun)


def describe_versions(run: RunLine) -> str:
    """Return the versions of Python and the packages."""
    packages = (f"{name} {version}" for name, version in sorted(run.versions.items()))
    return ", ".join([f"Python {run.python}", *packages])


def describe_machines(runs: Iterable[RunLine], noun: str) -> str:
    """Return runs' hardware and job counts: `..., 2 cores; trials at a time: 1, 4 (threads)`."""
    machines: dict[str, dict[str, dict[int, None]]] = {}
    for run in runs:
        hardware = run.hardware
        machine = (
            f"{hardware.cpu}, {hardware.cores} cores, {hardware.memory_gib:.0f} GiB, {run.system}"
        )
        machines.setdefault(machine, {}).setdefault(run.executor, {})[run.jobs] = None
    return "; ".join(
        f"{machine}; {noun} at a time: "
        + "; ".join(
            f"{', '.join(map(str, sorted(jobs)))} ({executor})" for executor, jobs in kinds.items()
        )
        for machine, kinds in machines.items()
    )
