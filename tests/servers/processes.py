"""Python in a process of its own, for tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path


def run_python(
    *words: str | Path,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    input: str | None = None,
    timeout: float = 120,
    check: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run this Python with arguments, to its end; what it prints is text of the result."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=cwd,
        env=env,
        input=input,
        timeout=timeout,
        check=check,
        capture_output=True,
        text=True,
    )


def is_running(pid: int) -> bool:
    """Return whether there is a process of this number."""
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return pid > 0
