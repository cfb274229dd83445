"""The programs that recorded traces are played on: ours, or those from which they were taken.

program_for(trace)                        our program of the trace's name, played and checked as a task
program_for(trace, Path("benchmarks"))    benchmarks/menu.py or benchmarks/menu/menu.py, migrated from
                                          nightjarpy; its function `run` reports its own checks
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from njc.compiler import Compilation, compile_source
from njc.frontend.source import SourceFile
from spsbench.checks import check
from spsbench.replay.traces import Trace
from spsbench.suite import NAMES, module_of, natural_of, source_of, task_of

RENAMED = {
    "calendar_tool": "calendar",
    "mask_sensitive_information": "mask_sensitive_info",
}
"""Programs that have another name where the traces come from."""

Checks = Mapping[str, bool]
Play = Callable[[], Checks]
"""Runs a program from its start and gives all of its checks."""


class CannotReplayError(Exception):
    """There is no program on which the effects of a trace could be carried out."""


def our_program(trace: Trace) -> Play:
    """Our program of the trace's name, where the trace speaks of variables that it has."""
    name = RENAMED.get(trace.program, trace.program)
    if name not in NAMES:
        raise CannotReplayError(f"there is no program `{name}` here; give yours by --programs")
    source = SourceFile(f"{name}/natural.njpy", source_of(name, "natural.njpy").encode())
    known = {each.root for block in compile_source(source).blocks for each in block.references}
    foreign = sorted({each for block in trace.blocks for each in block.names} - known)
    if foreign:
        raise CannotReplayError(
            f"its prompts speak of {', '.join(foreign)}, which our program does not have; "
            "give the one that does by --programs"
        )

    def play() -> Checks:
        results = check(task_of(name), natural_of(name))
        return {f"{each.case}: {each.check}": each.passed for each in results}

    return play


def their_program(trace: Trace, programs: Path) -> Play:
    """The program that the trace was taken from, migrated."""
    from njc.migrate.program import migrate

    name = trace.program
    places = [programs / f"{name}.py", programs / name / f"{name}.py"]
    path = next((each for each in places if each.is_file()), None)
    if path is None:
        raise CannotReplayError(f"there is neither {places[0]} nor {places[1]}")
    migration = migrate(SourceFile(path.name, path.read_bytes()), f"{name}.njpy")
    if isinstance(migration, str):
        raise CannotReplayError(f"{path} cannot be migrated: {migration}")
    code = code_of(migration.compilation)

    def play() -> Checks:
        _, _, checks = module_of(name, code, f"{name}.njpy").run()
        return {str(each): passed is True for each, passed in checks.items()}

    return play


def code_of(compilation: Compilation) -> bytes:
    """The compiled program, if it could be compiled."""
    if compilation.output is None:
        first = next(each for each in compilation.diagnostics if each.severity == "error")
        raise CannotReplayError(f"{first.path}:{first.line} does not compile: {first.message}")
    return compilation.output
