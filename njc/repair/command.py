"""Running a user's test command on a build, with the steps of one block.

    run_test_command(["pytest", "-q"], out, BlockLines(out / "shop.py", 12, 20), seconds=300)
        ->  CommandResult(exit_code=1, output="... assert 10 == 6 ...", trace=ExecutionTrace(...))

The command has the compiled files first on PYTHONPATH. All its processes are killed at the time limit. pytest
stops at its first failure (`PYTEST_ADDOPTS=-x`), so that the last run of the block is one of the failed test.

Not seen: runs in other threads, in processes that are killed, and by a Python in which njc is not installed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from njc.execution_trace import ExecutionTrace

MAX_OUTPUT_CHARS = 1500
TIMEOUT_EXIT_CODE = 124
"""As of the command `timeout`."""


@dataclass(frozen=True, slots=True)
class BlockLines:
    """Where the code of a block stands in a compiled file, first and last line included."""

    file: Path
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a test command ended."""

    exit_code: int
    output: str
    """The end of what it printed."""
    trace: ExecutionTrace
    """The last run of the block."""

    @property
    def has_passed(self) -> bool:
        """Whether the exit code is 0."""
        return self.exit_code == 0


def run_test_command(
    words: Sequence[str], out: Path, block: BlockLines, seconds: float
) -> CommandResult:
    """Run a command on the compiled files in `out`."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as log:
        exit_code = _run(
            [word.replace("{out}", str(out)) for word in words],
            _make_environment(out, block, Path(folder)),
            log.fileno(),
            seconds,
        )
        log.seek(0)
        output = log.read().decode("utf-8", "replace")
        trace = _read_last_trace(Path(folder))
    if exit_code == TIMEOUT_EXIT_CODE:
        output += f"\nstopped after {seconds:g} seconds"
    return CommandResult(exit_code, output.strip()[-MAX_OUTPUT_CHARS:], trace)


def _run(words: Sequence[str], environment: dict[str, str], log: int, seconds: float) -> int:
    process = subprocess.Popen(
        words,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return TIMEOUT_EXIT_CODE
    finally:
        with suppress(OSError, AttributeError):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.wait()


def _make_environment(out: Path, block: BlockLines, folder: Path) -> dict[str, str]:
    tracing = Path(__file__).parent / "tracing"
    paths = [str(tracing), str(out), os.environ.get("PYTHONPATH", "")]
    wanted = {
        "file": os.path.realpath(block.file),
        "first": block.first,
        "last": block.last,
        "folder": str(folder),
    }
    return {
        "NJC_RECORD": "off",  # the pytest plugin would replay recordings in place of asking the model
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTEST_ADDOPTS": f"{os.environ.get('PYTEST_ADDOPTS', '')} -x".strip(),
        "NJC_TRACE_BLOCK": json.dumps(wanted),
    }


def _read_last_trace(folder: Path) -> ExecutionTrace:
    files = sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime_ns)
    for file in reversed(files):
        with suppress(OSError, ValueError):
            return ExecutionTrace.from_json(json.loads(file.read_text(encoding="utf-8")))
    return ExecutionTrace()
