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
from spsbench.checks import check_task
from spsbench.replay.traces import Trace
from spsbench.suite import (
    TASK_NAMES,
    load_natural_program,
    load_task,
    make_program_module,
    read_program_source,
)

PROGRAM_RENAMES = {
    "calendar_tool": "calendar",
    "mask_sensitive_information": "mask_sensitive_info",
}
"""Programs that have another name where the traces come from."""

CheckOutcomes = Mapping[str, bool]
RunChecks = Callable[[], CheckOutcomes]
"""Runs a program from its start and gives all of its checks."""


class CannotReplayError(Exception):
    """There is no program on which the effects of a trace could be carried out."""


def load_suite_program(trace: Trace) -> RunChecks:
    """Our program of the trace's name, where the trace speaks of variables that it has."""
    name = PROGRAM_RENAMES.get(trace.program, trace.program)
    if name not in TASK_NAMES:
        raise CannotReplayError(f"there is no program `{name}` here; give yours by --programs")
    source = SourceFile(f"{name}/natural.njpy", read_program_source(name, "natural.njpy").encode())
    known = {each.root for block in compile_source(source).blocks for each in block.references}
    foreign = sorted({each for block in trace.blocks for each in block.names} - known)
    if foreign:
        raise CannotReplayError(
            f"its prompts speak of {', '.join(foreign)}, which our program does not have; "
            "give the one that does by --programs"
        )

    def play() -> CheckOutcomes:
        results = check_task(load_task(name), load_natural_program(name))
        return {f"{each.case}: {each.check}": each.passed for each in results}

    return play


def load_migrated_program(trace: Trace, programs: Path) -> RunChecks:
    """The program that the trace was taken from, migrated."""
    from njc.migrate.program import Migration, migrate_program

    name = trace.program
    places = [programs / f"{name}.py", programs / name / f"{name}.py"]
    path = next((each for each in places if each.is_file()), None)
    if path is None:
        raise CannotReplayError(f"there is neither {places[0]} nor {places[1]}")
    migration = migrate_program(SourceFile(path.name, path.read_bytes()), f"{name}.njpy")
    if not isinstance(migration, Migration):
        reason = migration if isinstance(migration, str) else "it has no natural code"
        raise CannotReplayError(f"{path} cannot be migrated: {reason}")
    code = require_compiled_code(migration.compilation)

    def play() -> CheckOutcomes:
        _, _, checks = make_program_module(name, code, f"{name}.njpy").run()
        return {str(each): passed is True for each, passed in checks.items()}

    return play


def require_compiled_code(compilation: Compilation) -> bytes:
    """The compiled program, if it could be compiled."""
    if compilation.output is None:
        first = next(each for each in compilation.diagnostics if each.severity == "error")
        raise CannotReplayError(f"{first.path}:{first.line} does not compile: {first.message}")
    return compilation.output
