"""Programs in processes of their own that begin together: each prints "ready", and reads a line before it goes on."""

from __future__ import annotations

import subprocess
import sys

from waiting import HANG_SECONDS


def start_ready(program: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a program, up to where it waits."""
    child = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


def let_go(child: subprocess.Popen[str]) -> None:
    """Have a program go on that waits."""
    assert child.stdin is not None
    child.stdin.write("go\n")
    child.stdin.flush()


def run_together(program: str, *arguments: tuple[object, ...]) -> None:
    """Run a process with each of these arguments, all at once, to an end without an error."""
    children = [start_ready(program, *given) for given in arguments]
    for child in children:
        let_go(child)
    for child in children:
        child.communicate(timeout=HANG_SECONDS)
    assert [child.returncode for child in children] == [0] * len(children)
