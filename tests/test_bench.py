"""The commands of bench/ that need a model or a package say so without it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench"


@pytest.mark.parametrize("name", ["agent_quality", "agent_dojo", "contracts", "prompt_size"])
def test_a_command_that_needs_something_says_what_to_give(name: str) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("NJC_")}
    hide = "import runpy, sys; sys.modules['agentdojo'] = None; del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"
    command = [sys.executable, "-c", hide, str(BENCH / f"{name}.py")]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith(f"{name}: ")
