"""The code interpreter: each piece of Python runs in a new, isolated process.

    run_code("print(6 * 7)")       InterpreterOutput("42", failed=False)

The code has neither installed packages nor the trial's environment, folder and input.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

TIMEOUT_SECONDS = 30.0
MAX_OUTPUT_CHARACTERS = 4000


@dataclass(frozen=True, slots=True)
class InterpreterOutput:
    """The output of a piece of code, or its failure."""

    text: str
    failed: bool


def run_code(code: str, seconds: float = TIMEOUT_SECONDS) -> InterpreterOutput:
    """Run a piece of code for at most `seconds`; return what it printed, and its exception."""
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", code],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            cwd="/",
            env={},
            encoding="utf-8",
            errors="replace",
        )
    except (subprocess.TimeoutExpired, ValueError) as error:  # or the code has a null character
        is_late = isinstance(error, subprocess.TimeoutExpired)
        return InterpreterOutput("it ran for too long" if is_late else f"{error}", failed=True)
    failed = done.returncode != 0
    raised = done.stderr.strip().rpartition("\n")[2] if failed else ""
    text = "\n".join(filter(None, (done.stdout.rstrip("\n"), raised)))
    if (more := len(text) - MAX_OUTPUT_CHARACTERS) > 0:
        text = f"{text[:MAX_OUTPUT_CHARACTERS]} ... (+{more} characters)"
    return InterpreterOutput(text, failed)
