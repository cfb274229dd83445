"""The commands that report results files, one section for each file: as text, or as Markdown that `--check` compares.

report_results(report, paths, None, check=False)                  the tables as text, to standard output
report_results(report, paths, Path("report.md"), check=True)      fails where the file is not that of the results
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import click

from njrt.errors import require_packages
from spsbench.results import DamagedResultsError, Hardware, split_lines

ResultsT = TypeVar("ResultsT")


@dataclass(frozen=True, slots=True)
class ResultsReport(Generic[ResultsT]):
    """How results of one kind are read and shown."""

    command: str
    read: Callable[[Iterable[str]], ResultsT]
    format_text: Callable[[ResultsT], str]
    render: Callable[[Sequence[tuple[str, str, ResultsT]], str], str]
    """The Markdown of files, given as name, digest and results, and the command that makes it."""


def report_results(
    report: ResultsReport[ResultsT], paths: Sequence[Path], out: Path | None, check: bool
) -> None:
    """Print the tables of files, or write or check a report on them."""
    if check and out is None:
        raise click.UsageError("--check compares with a report: name it by --out")
    found = [(path, read_results_file(path, report.read)) for path in paths]
    if out is None:
        for path, results in found:
            click.echo(f"{path}\n\n{report.format_text(results)}\n")
        return
    names = " ".join(Path(os.path.relpath(path, out.parent)).as_posix() for path in paths)
    text = report.render(
        [(path.name, compute_digest(path.read_bytes()), results) for path, results in found],
        f"spsbench {report.command} {names} --out {out.name}",
    )
    if not check:
        out.write_text(text, encoding="utf-8", newline="\n")
    elif not out.is_file() or out.read_text(encoding="utf-8") != text:
        raise click.ClickException(f"{out} differs from the results")


class SampledRun(Protocol):
    """One start of a command on a results file: how it drew its sample."""

    @property
    def model(self) -> str:
        """The model that was asked."""

    @property
    def seed(self) -> int:
        """Of the sample."""

    @property
    def strata(self) -> str:
        """What the sample has its share of, if it was divided."""


def format_sample(asked: int, population: int, noun: str, runs: Iterable[SampledRun]) -> str:
    """Return how many of how many were asked, and how they were drawn: `12 of 195 problems, drawn with seed 1`."""
    if asked >= population:
        return f"all {population} {noun}"
    draws = (
        f"seed {run.seed}" + (f", with its share of each {run.strata}" if run.strata else "")
        for run in runs
    )
    return f"{asked} of {population} {noun}, drawn with {' and '.join(dict.fromkeys(draws))}"


class MachineRun(Protocol):
    """One start of a command: where it ran, and how much at a time."""

    @property
    def hardware(self) -> Hardware:
        """The processor and the memory."""

    @property
    def system(self) -> str:
        """The operating system."""

    @property
    def jobs(self) -> int:
        """How much ran at a time."""

    @property
    def executor(self) -> str:
        """What it ran in, such as `threads`."""


def describe_machines(runs: Iterable[MachineRun], noun: str) -> str:
    """The hardware of runs, and how many `noun` they made at a time: `..., 2 cores; trials at a time: 1, 4 (threads)`."""
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


def read_results_file(path: Path, read: Callable[[Iterable[str]], ResultsT]) -> ResultsT:
    """Return the results of a file; a line that cannot be read ends the command with a message."""
    try:
        return read(read_text_lines(path))
    except DamagedResultsError as error:
        raise click.ClickException(f"{path}: {error}") from None


def read_text_lines(path: Path) -> list[str]:
    """Return the lines of a results file; a byte that is not UTF-8 damages its line only."""
    return split_lines(path.read_text(encoding="utf-8", errors="replace"))


def compute_digest(data: bytes) -> str:
    """Return the first 16 digits of the SHA-256."""
    return hashlib.sha256(data).hexdigest()[:16]


def render_template(package: str, name: str, **values: Any) -> str:
    """Return a template of a package; needs jinja2 (the extra `bench`)."""
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
