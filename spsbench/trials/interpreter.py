"""The code interpreter: pieces of Python run in an isolated process, the earlier ones again.

    run_code(["x = 6"])                      InterpreterOutput("", failed=False)
    run_code(["x = 6", "print(x * 7)"])      InterpreterOutput("42", failed=False)

The code has neither installed packages nor the trial's environment, folder and input.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

TIMEOUT_SECONDS = 30.0
MAX_OUTPUT_CHARACTERS = 4000


@dataclass(frozen=True, slots=True)
class InterpreterOutput:
    """The output of a piece of code, or its failure."""

    text: str
    failed: bool


_PROGRAM = """\
import contextlib, io, json, sys
*earlier, last = json.loads(sys.argv[1])
names = {"__name__": "__main__"}
for code in earlier:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
        exec(code, names)
exec(last, names)
"""


def run_code(pieces: Sequence[str], seconds: float = TIMEOUT_SECONDS) -> InterpreterOutput:
    """Run pieces of code for at most `seconds`; return what the last one printed and raised."""
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _PROGRAM, json.dumps(pieces)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            cwd="/",
            env={},
            encoding="utf-8",
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return InterpreterOutput("it ran for too long", failed=True)
    failed = done.returncode != 0
    raised = done.stderr.strip().rpartition("\n")[2] if failed else ""
    text = "\n".join(filter(None, (done.stdout.rstrip("\n"), raised)))
    if (more := len(text) - MAX_OUTPUT_CHARACTERS) > 0:
        text = f"{text[:MAX_OUTPUT_CHARACTERS]} ... (+{more} characters)"
    return InterpreterOutput(text, failed)
