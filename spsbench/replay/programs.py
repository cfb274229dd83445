"""The programs for recorded traces: ours, or the original programs.

load_suite_program(trace)                          our program with its name, checked as a task
load_authors_program(trace, Path("benchmarks"))    benchmarks/menu.py or benchmarks/menu/menu.py,
                                                   for nightjarpy; `run` has its own checks
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from njc.compiler import Compilation, compile_source
from njc.frontend.source import SourceFile
from spsbench.methods import METHODS
from spsbench.replay.traces import CheckOutcomes, Trace, list_program_names
from spsbench.suite import (
    TASK_NAMES,
    load_natural_program,
    load_task,
    make_program_module,
    read_program_source,
)
from spsbench.task import check_task

RunChecks = Callable[[], CheckOutcomes]
"""Runs a program from its start and returns all of its checks."""


class CannotReplayError(Exception):
    """A trace cannot be replayed on a program."""


def load_suite_program(trace: Trace) -> RunChecks:
    """Return our program with the trace's name, if it has the variables of the trace's prompts."""
    name = next((name for name in list_program_names(trace.program) if name in TASK_NAMES), None)
    if name is None:
        raise CannotReplayError(
            f"there is no program `{trace.program}` here; name a folder that has it by --programs"
        )
    source = SourceFile(f"{name}/natural.njpy", read_program_source(name, "natural.njpy").encode())
    blocks = compile_source(source).blocks
    known = {reference.root for block in blocks for reference in block.references}
    foreign = sorted({name for block in trace.blocks for name in block.names} - known)
    if foreign:
        raise CannotReplayError(
            f"its prompts refer to {', '.join(foreign)}, which our program does not have; "
            "name a folder that has the right program by --programs"
        )

    def play() -> CheckOutcomes:
        options = METHODS[trace.effects].compile_options
        results = check_task(load_task(name), load_natural_program(name, options))
        return {f"{result.case}: {result.check}": result.passed for result in results}

    return play


def load_authors_program(trace: Trace, programs: Path) -> RunChecks:
    """Return the program that the trace was taken from."""
    name = trace.program
    places = [
        programs / place
        for known in list_program_names(name)
        for place in (f"{known}.py", f"{known}/{known}.py")
    ]
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise CannotReplayError(f"there is neither {places[0]} nor {places[1]}")
    source = SourceFile(f"{name}.njpy", convert_program(path.read_text(encoding="utf-8")).encode())
    options = METHODS[trace.effects].compile_options
    code = require_compiled_code(compile_source(source, project=options))

    def play() -> CheckOutcomes:
        # The name must not be that of a module that Python's library imports.
        module = make_program_module(f"replayed.{name}", code, f"{name}.njpy")
        try:
            _, _, checks = module.run()
        except Exception:  # as in the recording, a program that raises has no checks
            return {}
        return {str(check): passed is True for check, passed in checks.items()}

    return play


_IMPORT = re.compile(r"^import nightjarpy as nj\n|^from nightjarpy import .*\n", re.MULTILINE)
_DECORATOR = re.compile(r"^[ \t]*@nj\.fn(?:\(.*\))?[ \t]*\n", re.MULTILINE)


def convert_program(text: str) -> str:
    """Return an author's program as natural code, without nightjarpy's import and decorators."""
    return _DECORATOR.sub("", _IMPORT.sub("", text))


def require_compiled_code(compilation: Compilation) -> bytes:
    """Return the compiled program; raise `CannotReplayError` if it does not compile."""
    if compilation.output is None:
        error = next(found for found in compilation.diagnostics if found.severity == "error")
        raise CannotReplayError(f"{error.path}:{error.line} does not compile: {error.message}")
    return compilation.output
