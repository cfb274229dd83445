"""Building: compile what has changed, look for what stands in the way, and then write all of it.

    find_units(...)  ->  plan_build(...)  ->  Build(compiled, findings, obstacles)  ->  write(build)

A build without errors and obstacles is written whole; any other leaves every file as it was. What has
changed is read off the compiled files themselves: each carries the digest of what it was made from and
of what it was made into, so there is no state beside them that could be lost or out of step.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from njc.codegen.header import make_header
from njc.frontend.diagnostics import Diagnostic
from njc.frontend.source import SourceFile
from njc.project.config import Project
from njc.project.outputs import ExistingFile, find_overwrite_obstacle, read_existing_file, write_all
from njc.project.units import Unit
from njrt.errors import ConfigurationError
from njrt.options import Options

if TYPE_CHECKING:
    # The compiler is imported where it is called: a build in which nothing has changed does without.
    from njc.codegen.lower import WrittenBlock
    from njc.compiler import Compilation

WrittenBlocks = Mapping["Unit", Sequence["WrittenBlock"]]
"""Code that takes the place of blocks, for the files that have some."""
ProgressCallback = Callable[[int, int], None]
"""Is told how many files are done, and how many there are."""

_BYTES_PER_PROCESS = 200_000
"""Starting a process costs about as much as compiling this much source."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A diagnostic with the source that it points into; its path is as a user would type it."""

    diagnostic: Diagnostic
    source: SourceFile


@dataclass(frozen=True, slots=True)
class CompileTask:
    """One source to compile; `thorough` reads it even if it holds no natural block."""

    unit: Unit
    source: SourceFile
    options: Options
    thorough: bool = False
    written: Sequence[WrittenBlock] = ()


@dataclass(frozen=True, slots=True)
class CompileResult:
    """What became of one source; `output` is None where there are errors."""

    unit: Unit
    source: SourceFile
    output: bytes | None
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class OutputChange:
    """A compiled file to write, and what is there now."""

    unit: Unit
    before: bytes
    after: bytes


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """What building would do, before anything is written."""

    units: tuple[Unit, ...]
    changes: tuple[OutputChange, ...]
    findings: tuple[Finding, ...]
    obstacles: tuple[str, ...]

    @property
    def has_errors(self) -> bool:
        """Whether a source cannot be compiled."""
        return any(map(is_error, self.findings))

    @property
    def can_write(self) -> bool:
        """Whether there is neither an error nor an obstacle."""
        return not self.obstacles and not self.has_errors


def plan_build(
    units: Sequence[Unit],
    project: Project,
    *,
    force: bool = False,
    jobs: int | None = None,
    progress: ProgressCallback = lambda done, of: None,
    written: WrittenBlocks = MappingProxyType({}),
) -> BuildPlan:
    """Compile the units whose compiled files are not up to date, and find what hinders writing them.

    `written` is code that takes the place of blocks.
    """
    sources = {unit: read_source(unit) for unit in units}
    existing = {unit: read_existing_file(unit.output) for unit in units}
    outdated = [
        unit
        for unit in units
        if force
        or project.warnings == "error"
        or not _is_fresh(existing[unit], sources[unit], project.options, written.get(unit, ()))
    ]
    results = compile_all(
        {unit: sources[unit] for unit in outdated}, project, jobs, progress, written=written
    )
    changes = tuple(
        OutputChange(each.unit, existing[each.unit].data, each.output)
        for each in results
        if each.output is not None and each.output != existing[each.unit].data
    )
    obstacles = (
        find_overwrite_obstacle(change.unit.output, existing[change.unit].state)
        for change in changes
    )
    return BuildPlan(
        tuple(units),
        changes,
        collect_findings(results, project.warnings),
        () if force else tuple(filter(None, obstacles)),
    )


def write_changes(build: BuildPlan) -> None:
    """Write the changed files, all or none; a source that may be executed gives a file that may be."""
    write_all(
        {change.unit.output: change.after for change in build.changes},
        {
            change.unit.output: mode
            for change in build.changes
            if (mode := change.unit.source.stat().st_mode & 0o777) & 0o111
        },
    )


def compile_all(
    sources: Mapping[Unit, SourceFile],
    project: Project,
    jobs: int | None = None,
    progress: ProgressCallback = lambda done, of: None,
    *,
    thorough: bool = False,
    written: WrittenBlocks = MappingProxyType({}),
) -> list[CompileResult]:
    """Compile sources, in several processes where that pays, and return the results in their order.

    A file without natural blocks is passed through unread, unless this is to be `thorough`: then it too
    must be Python.
    """
    tasks = [
        CompileTask(unit, source, project.options, thorough, written.get(unit, ()))
        for unit, source in sources.items()
    ]
    workers = min(jobs or _choose_job_count(sources.values()), len(tasks))
    results = []
    for result in (
        _compile_in_processes(tasks, workers) if workers > 1 else map(run_compile_task, tasks)
    ):
        results.append(result)
        progress(len(results), len(tasks))
    return results


def run_compile_task(task: CompileTask) -> CompileResult:
    """Compile one source."""
    from njc.compiler import compile_source

    with _pause_gc():
        compilation = compile_source(task.source, project=task.options, written=task.written)
        return make_compile_result(task, compilation)


@contextmanager
def _pause_gc() -> Iterator[None]:
    """Collect no cycles: syntax trees have none, and looking for some costs a quarter of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def make_compile_result(task: CompileTask, compilation: Compilation) -> CompileResult:
    """Say what became of a task; the result may cross to another process."""
    from njc.frontend.parse import parse

    output, diagnostics = compilation.output, compilation.diagnostics
    if task.thorough and output is not None and not compilation.blocks:
        module = parse(task.source)
        if isinstance(module, Diagnostic):
            output, diagnostics = None, (*diagnostics, module)
    bare_source = SourceFile(task.source.path, task.source.data)
    return CompileResult(task.unit, bare_source, output, diagnostics)


def collect_findings(results: Iterable[CompileResult], warnings: str) -> tuple[Finding, ...]:
    """Collect what the compiler found, with the paths that users know."""
    return tuple(
        Finding(_apply_report_settings(diagnostic, each.unit, warnings), each.source)
        for each in results
        for diagnostic in each.diagnostics
    )


def is_error(finding: Finding) -> bool:
    """Whether a finding is an error, or a warning made one."""
    return finding.diagnostic.severity == "error"


def read_source(unit: Unit) -> SourceFile:
    """Read a unit's source file; raise ConfigurationError where that is impossible."""
    try:
        return SourceFile(unit.path, unit.source.read_bytes())
    except OSError as error:
        raise ConfigurationError(f"cannot read {unit.shown}: {error.strerror}") from None


def _compile_in_processes(tasks: Sequence[CompileTask], workers: int) -> Iterator[CompileResult]:
    from concurrent.futures import ProcessPoolExecutor

    import njc.compiler  # noqa: F401  once here instead of once in each forked process

    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(run_compile_task, tasks, chunksize=max(1, len(tasks) // (workers * 8)))


def _choose_job_count(sources: Iterable[SourceFile]) -> int:
    size = sum(len(source.data) for source in sources)
    return min(os.cpu_count() or 1, 1 + size // _BYTES_PER_PROCESS)


def _is_fresh(
    existing: ExistingFile, source: SourceFile, options: Options, written: Sequence[WrittenBlock]
) -> bool:
    if existing.state != "compiled":
        return False
    if not written:
        return existing.header == make_header(source, options)
    from njc.codegen.lower import serialize_written

    return existing.header == make_header(source, options, written=serialize_written(written))


def _apply_report_settings(diagnostic: Diagnostic, unit: Unit, warnings: str) -> Diagnostic:
    reported = replace(diagnostic, path=unit.shown)
    return replace(reported, severity="error") if warnings == "error" else reported
