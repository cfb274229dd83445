"""Build: compile changed sources, and write all files or none.

    find_units(...) -> plan_build(...) -> BuildPlan(changes, findings, obstacles).write_changes()

An error or an obstacle stops the whole build. A compiled file itself shows whether it is up to
date: it contains the digests of its source and of itself. There is no other state.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import starmap
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from njc.compiler.codegen.header import make_header
from njc.compiler.frontend.diagnostics import Diagnostic
from njc.compiler.frontend.source import SourceFile
from njc.project.config import Project
from njc.project.outputs import ExistingFile, find_overwrite_obstacle, read_existing_file, write_all
from njc.project.units import Unit, explaining_failure, format_path, read_file
from njrt.data.options import Options
from njrt.data.records import record, replace

if TYPE_CHECKING:
    # The compiler is imported only when it is called: a build without changes does not need it.
    from njc.compiler.compiler import Compilation

Compilations = Mapping["Unit", "Compilation"]
"""The files that are already compiled: those with static blocks."""

_BYTES_PER_PROCESS = 200_000
"""Starting a process takes about as long as compiling this much source."""


@record
class Finding:
    """A diagnostic and its source; the diagnostic's path is as a user would type it."""

    diagnostic: Diagnostic
    source: SourceFile

    @property
    def is_error(self) -> bool:
        """Whether it is an error, or a warning that counts as one."""
        return self.diagnostic.severity == "error"


class NaturalSyntaxError(SyntaxError):
    """A `.njpy` file has errors: all are in `findings`, the message comes from the first."""

    def __init__(self, file: str, findings: Sequence[Finding]) -> None:
        first = next(finding for finding in findings if finding.is_error)
        diagnostic = first.diagnostic
        line = None if diagnostic.code == "NJ002" else first.source.line(diagnostic.line)
        end = diagnostic.end_line, diagnostic.end_column
        place = (file, diagnostic.line, diagnostic.column, line, *end)
        super().__init__(f"{diagnostic.message} [{diagnostic.code}]", place)
        self.findings = tuple(findings)


@record
class CompileTask:
    """A source to compile; Python's own errors are found in files without natural blocks, too."""

    unit: Unit
    source: SourceFile
    options: Options
    with_hints: bool = True
    only_check: bool = False
    """Whether only the findings are wanted."""

    def run(self) -> CompileResult:
        """Compile the source."""
        was_enabled = gc.isenabled()
        gc.disable()  # syntax trees have no cycles, and the collector takes a quarter of the time
        try:
            return self.make_result(self.compile())
        finally:
            if was_enabled:
                gc.enable()

    def compile(self) -> Compilation:
        """Compile the source; return the whole compilation."""
        from njc.compiler.compiler import check_source, compile_source

        compile_ = check_source if self.only_check else compile_source
        return compile_(self.source, project=self.options, with_hints=self.with_hints)

    def make_result(self, compilation: Compilation) -> CompileResult:
        """Make the task's result, which can be sent to another process."""
        from njc.compiler.frontend.parse import parse

        output, diagnostics = compilation.output, compilation.diagnostics
        is_python = self.only_check or not self.unit.is_copy
        if is_python and output is not None and not compilation.blocks:
            module = parse(self.source)
            if isinstance(module, Diagnostic):
                output, diagnostics = None, (*diagnostics, module)
        bare = SourceFile(self.source.path, self.source.data)
        return CompileResult(self.unit, bare, output, diagnostics, compilation.hints)


@record
class CompileResult:
    """The result of compiling a source; there is no `output` after errors."""

    unit: Unit
    source: SourceFile
    output: bytes | None
    diagnostics: tuple[Diagnostic, ...]
    hints: tuple[Diagnostic, ...] = ()


@record
class OutputChange:
    """A compiled file to write."""

    unit: Unit
    contents: bytes


@record
class BuildPlan:
    """The result of a build before anything is written."""

    units: tuple[Unit, ...]
    changes: tuple[OutputChange, ...]
    findings: tuple[Finding, ...]
    obstacles: tuple[str, ...]
    executable: Mapping[Path, int]
    """The compiled files of executable sources, with their mode bits."""

    @property
    def has_errors(self) -> bool:
        """Whether a source cannot be compiled."""
        return any(finding.is_error for finding in self.findings)

    def write_changes(self) -> None:
        """Write all changed files or none; an executable source's compiled file is executable."""
        write_all({change.unit.output: change.contents for change in self.changes})
        for output, bits in self.executable.items():
            with explaining_failure(f"make {format_path(output)} executable"):
                if bits & ~(mode := output.stat().st_mode):
                    output.chmod(mode | bits)


def plan_build(
    units: Sequence[Unit],
    project: Project,
    *,
    force: bool = False,
    jobs: int | None = None,
    compiled: Compilations = MappingProxyType({}),
) -> BuildPlan:
    """Compile outdated units that are not in `compiled`, and find obstacles to writing."""
    sources = {unit: read_source(unit) for unit in units}
    executable: dict[Path, int] = {}
    for unit in units:
        with explaining_failure(f"read {unit.display_path}"):
            if bits := unit.source.stat().st_mode & 0o111:
                executable[unit.output] = bits
    existing = {unit: read_existing_file(unit.output) for unit in units}

    def is_outdated(unit: Unit) -> bool:
        if force or project.warnings == "error":
            return True
        if unit in compiled:
            return not _is_same_text(compiled[unit].output or b"", existing[unit])
        return not _is_fresh(existing[unit], sources[unit], project)

    outdated = {unit: source for unit, source in sources.items() if is_outdated(unit)}
    results = compile_all(outdated, project, jobs, compiled=compiled)
    changes = tuple(
        OutputChange(result.unit, result.output)
        for result in results
        if result.output is not None and not _is_same_text(result.output, existing[result.unit])
    )
    states = ((change.unit.output, existing[change.unit].state) for change in changes)
    obstacles = () if force else tuple(filter(None, starmap(find_overwrite_obstacle, states)))
    findings = collect_findings(results, project.warnings)
    return BuildPlan(tuple(units), changes, findings, obstacles, executable)


def compile_all(
    sources: Mapping[Unit, SourceFile],
    project: Project,
    jobs: int | None = None,
    *,
    only_check: bool = False,
    with_hints: bool = False,
    compiled: Compilations = MappingProxyType({}),
) -> list[CompileResult]:
    """Compile sources, in several processes if that is faster; return the results in order.

    With `only_check`, findings are all that is wanted, those of Python in `.py` files too.
    """
    tasks = {
        unit: CompileTask(unit, source, project.options, with_hints, only_check)
        for unit, source in sources.items()
    }
    results = {
        unit: task.make_result(compiled[unit]) for unit, task in tasks.items() if unit in compiled
    }
    left = [task for unit, task in tasks.items() if unit not in results]
    most = 1 + sum(len(task.source.data) for task in left) // _BYTES_PER_PROCESS
    workers = min(jobs or min(os.cpu_count() or 1, most), len(left))
    for result in (
        _compile_in_processes(left, workers) if workers > 1 else map(CompileTask.run, left)
    ):
        results[result.unit] = result
    return [results[unit] for unit in tasks]


def collect_findings(results: Iterable[CompileResult], warnings: str) -> tuple[Finding, ...]:
    """Collect the diagnostics of all results, with the paths that users type."""
    found = []
    for result in results:
        for diagnostic in result.diagnostics:
            reported = replace(diagnostic, path=result.unit.display_path)
            if warnings == "error" and diagnostic.severity == "warning":
                reported = replace(reported, severity="error")
            found.append(Finding(reported, result.source))
    return tuple(found)


def read_source(unit: Unit) -> SourceFile:
    """Read a unit's source file; raise ConfigurationError if that fails."""
    return SourceFile(unit.path, read_file(unit.source))


def _compile_in_processes(tasks: Sequence[CompileTask], workers: int) -> Iterator[CompileResult]:
    from concurrent.futures import ProcessPoolExecutor

    # Here, so that forked processes do not import it again.
    import njc.compiler.compiler  # noqa: F401

    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(CompileTask.run, tasks, chunksize=max(1, len(tasks) // (workers * 8)))


def _is_fresh(existing: ExistingFile, source: SourceFile, project: Project) -> bool:
    header = make_header(source, project.options)
    return existing.state == "compiled" and existing.header == header


def _is_same_text(output: bytes, existing: ExistingFile) -> bool:
    """Return whether the compiled file already has this text; a checkout may change line ends."""
    return output.replace(b"\r\n", b"\n") == existing.data.replace(b"\r\n", b"\n")
