"""The command of bench/ that needs a package says so without it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parents[1] / "bench"


def test_a_command_that_needs_a_package_says_which() -> None:
    hide = "import runpy, sys; sys.modules['agentdojo'] = None; del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"
    command = [sys.executable, "-c", hide, str(BENCH / "agent_dojo.py")]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("agent_dojo: ")
