"""Programs under approval that are killed at every event."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from processes import run_python


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs copies of processes")
def test_programs_that_are_killed_at_every_event_come_to_the_same_end() -> None:
    script = Path(__file__).parents[1] / "killed_runs.py"
    names = ("mailbox", "tickets", "order")
    done = run_python(str(script), *names, timeout=300)
    lines = done.stdout.splitlines()
    assert [line for line in lines if not line.endswith("as in one go")] == [], done.stderr
    assert {line.split()[0] for line in lines} == set(names)
    counts = [tuple(map(int, re.findall(r"(\d+) \w+s ", line))) for line in lines]
    assert all(kills >= 2 * questions > 0 for kills, questions, _ in counts)
    assert done.returncode == 0
