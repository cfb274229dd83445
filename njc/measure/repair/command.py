"""Running a user's test command on a build, recording the steps of one block.

    run_test_command(["pytest", "-q"], out, units, BlockLines(out / "shop.py", 12, 20), seconds=300)
        ->  CommandResult(exit_code=1, output="... assert 10 == 6 ...", trace=ExecutionTrace(...))

At the time limit its processes are killed. pytest stops at the first failure
(`PYTEST_ADDOPTS=-x`), so that the last run of the block belongs to the failed test. Not detected:
runs in other threads, in processes that a signal kills, and by a Python without njc.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from njc.measure.built_imports.account import find_import_problem, make_build_environment
from njc.measure.execution_trace import ExecutionTrace
from njc.project.units import Unit
from njrt.data.records import asdict, record
from njrt.errors import ConfigurationError
from njrt.values.dataclass_json import from_json

MAX_OUTPUT_CHARS = 1500
MAX_OUTPUT_BYTES = 4 * MAX_OUTPUT_CHARS
TIMEOUT_EXIT_CODE = 124
"""The same as for the command `timeout`."""


@record
class BlockLines:
    """The lines of a block's code in a compiled file, including the first and the last."""

    file: Path
    first: int
    last: int


@record
class CommandResult:
    """How a test command ended."""

    exit_code: int
    output: str
    """The end of the command's output."""
    trace: ExecutionTrace

    @property
    def has_passed(self) -> bool:
        return self.exit_code == 0

    @property
    def was_killed(self) -> bool:
        return self.exit_code == -signal.SIGKILL

    @property
    def can_be_repaired(self) -> bool:
        """Whether the command failed after it ran the block, and was not killed."""
        return not self.has_passed and not self.was_killed and bool(self.trace.reached)

    def __str__(self) -> str:
        if self.exit_code < 0:
            return f"signal {-self.exit_code}"
        return "passes" if self.has_passed else f"exit code {self.exit_code}"


def run_test_command(
    words: Sequence[str], out: Path, units: Sequence[Unit], block: BlockLines, seconds: float
) -> CommandResult:
    """Run a command on a build in `out`; raises ConfigurationError if it cannot run or used none.

    Its processes are killed after `seconds`.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = _make_environment(out, units, block, Path(folder))
        try:
            command = [word.replace("{out}", str(out)) for word in words]
            exit_code, output = _run(command, environment, Path(folder, "output"), seconds)
        except OSError as error:
            message = f"the command cannot be run: {error.strerror}: {words[0]}"
            raise ConfigurationError(message) from None
        trace = _read_last_trace(Path(folder) / "steps")
        problem = find_import_problem(Path(folder))
    if exit_code == TIMEOUT_EXIT_CODE:
        output += f"\nstopped after {seconds:g} seconds"
    result = CommandResult(exit_code, output.strip()[-MAX_OUTPUT_CHARS:], trace)
    if problem:
        message = f"the command (exit code {exit_code}) did not test the build: {problem}"
        raise ConfigurationError(message)
    return result


def _run(
    words: Sequence[str], environment: dict[str, str], output: Path, seconds: float
) -> tuple[int, str]:
    """Run a command with its output in a file; return the exit code, and the end of the output."""
    with output.open("wb+") as file:
        process = subprocess.Popen(
            words,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            exit_code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            exit_code = TIMEOUT_EXIT_CODE
        finally:
            with suppress(OSError, AttributeError):  # it has ended, or Windows, without groups
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.wait()
        file.seek(max(0, file.seek(0, os.SEEK_END) - MAX_OUTPUT_BYTES))
        return exit_code, file.read().decode("utf-8", "replace")


def _make_environment(
    out: Path, units: Sequence[Unit], block: BlockLines, folder: Path
) -> dict[str, str]:
    steps = folder / "steps"
    steps.mkdir()
    wanted = {**asdict(block), "file": os.path.realpath(block.file), "folder": str(steps)}
    return {
        **make_build_environment(units, out, folder),
        "PYTEST_ADDOPTS": f"{os.environ.get('PYTEST_ADDOPTS', '')} -x".strip(),
        "NJC_TRACE_BLOCK": json.dumps(wanted),
    }


def _read_last_trace(folder: Path) -> ExecutionTrace:
    files = sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime_ns)
    for file in reversed(files):
        with suppress(OSError, ValueError):
            trace: ExecutionTrace = from_json(file.read_text(encoding="utf-8"), ExecutionTrace)
            return trace
    return ExecutionTrace()
