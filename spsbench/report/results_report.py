"""Reports on results files, with a section each: as text, or as Markdown that `--check` compares.

REPORT.format_text(results)                                        the tables as text
report_files(REPORT, [Path("r.jsonl")], Path("r.md"), check=False)     writes the Markdown file
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from njrt.errors import require_packages
from spsbench.journal import compute_digest, read_results_file
from spsbench.results import Results, RunLine, SampledRun

if TYPE_CHECKING:
    from spsbench.report.table import Table

RunT = TypeVar("RunT", bound=RunLine)
Facts = Iterable[tuple[str, str]]
"""Pairs of name and text: the place, time and settings of measurements."""


@dataclass(frozen=True, slots=True)
class ResultsReport:
    """How results of one kind are read and shown."""

    command: str
    package: str
    """The package that contains the template `report.md`."""
    kinds: tuple[type, ...]
    list_tables: Callable[[Results], list[Table]]
    list_facts: Callable[[Results], Facts]

    def format_text(self, results: Results) -> str:
        """Return the tables as the commands print them, each below its title if it has one."""
        from spsbench.report.table import format_table

        tables = self.list_tables(results)
        parts = (part for table in tables for part in (table.title, format_table(table)) if part)
        return "\n\n".join(parts)

    def render(self, files: Sequence[tuple[Path, Results]], command: str) -> str:
        """Return the report in Markdown; the same results give the same text."""
        from spsbench.report.measures import BOOTSTRAP_ROUNDS, SEED

        return render_template(
            self.package,
            "report.md",
            sections=[
                {
                    "name": path.name,
                    "digest": compute_digest(path.read_bytes()),
                    "facts": list(self.list_facts(results)),
                    "tables": self.list_tables(results),
                }
                for path, results in files
            ],
            command=command,
            rounds=BOOTSTRAP_ROUNDS,
            seed=SEED,
        )


def report_files(
    report: ResultsReport, results: Sequence[Path], out: Path | None, check: bool
) -> None:
    """Print reports as text, write Markdown or, with `check`, compare it with the Markdown file."""
    found = [(path, read_results_file(path, report.kinds)) for path in results]
    if out is None:
        for path, read in found:
            click.echo(f"{path}\n\n{report.format_text(read)}\n")
        return
    paths = (Path(os.path.relpath(path, out.parent)).as_posix() for path in results)
    text = report.render(found, f"spsbench {report.command} {' '.join(paths)} --out {out.name}")
    if not check:
        out.write_text(text, encoding="utf-8", newline="\n")
    elif not out.is_file() or out.read_text(encoding="utf-8") != text:
        raise click.ClickException(f"{out} differs from the results")


def format_sample(asked: int, population: int, noun: str, runs: Iterable[SampledRun]) -> str:
    """Return the size of a sample and how it was drawn: `12 of 195 problems, drawn with seed 1`."""
    if asked >= population:
        return f"all {population} {noun}"
    draws = (
        f"seed {run.seed}" + (f", with its share of each {run.strata}" if run.strata else "")
        for run in runs
    )
    return f"{asked} of {population} {noun}, drawn with {' and '.join(dict.fromkeys(draws))}"


def list_run_facts(
    runs: Sequence[RunT], noun: str, describe: Callable[[RunT, Sequence[RunT]], Facts]
) -> Facts:
    """Return facts about runs, with the machine and the date; identical facts are not repeated.

    `describe` is called with a run, and all runs of its model.
    """
    seen: dict[tuple[str, str], None] = {}
    for run in runs:
        alike = [other for other in runs if other.model == run.model]
        seen |= dict.fromkeys(describe(run, alike))
        seen["Machine", describe_machines(alike, noun)] = None
        seen["Versions", describe_versions(run)] = None
        seen["Measured", run.started[:10]] = None
    return seen


def format_model(run: RunLine) -> str:
    """Return the model of a run, with its note."""
    return f"{run.model} ({run.note})" if run.note else run.model


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


def render_template(package: str, name: str, **values: Any) -> str:
    """Render a package's template; requires jinja2 (the extra `bench`)."""
    require_packages("the report", "njpy[bench]", "jinja2")
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(package),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(name).render(**values)
