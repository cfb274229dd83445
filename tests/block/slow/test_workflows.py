"""Blocks inside of the steps of DBOS, as in docs/batch.md: a killed workflow goes on at the step that was interrupted."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from case_programs import read_program
from njc.compiler.compiler import compile_source
from njc.compiler.frontend.source import SourceFile
from waiting import HANG_SECONDS, wait_until

pytest.importorskip("dbos")

PAGE = Path(__file__).parents[3] / "docs" / "batch.md"
TRIAGE = read_program("workflows_triage")
RUN = """
import sys
from dbos import SetWorkflowID

if sys.argv[1] == "start":
    with SetWorkflowID("mails"):
        print(handle(["mail 1", "mail 2", "mail 3"]))
else:
    print(DBOS.retrieve_workflow("mails").get_result())
DBOS.destroy()
"""


def write_program(folder: Path) -> None:
    """Write the program of the page, and the compiled module that it imports."""
    output = compile_source(SourceFile("triage.njpy", TRIAGE.encode())).output
    assert output is not None
    (folder / "triage.py").write_bytes(output)
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    (folder / "mails.py").write_text(program + RUN)


def start(folder: Path, word: str, **environ: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "mails.py", word],
        cwd=folder,
        env=os.environ | environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_killed_workflow_goes_on_at_its_step(tmp_path: Path) -> None:
    write_program(tmp_path)
    calls = tmp_path / "calls.txt"
    process = start(tmp_path, "start", HANGS_AT="2")
    wait_until(lambda: calls.exists() and "topic 2" in calls.read_text())
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=HANG_SECONDS)
    again = start(tmp_path, "continue")
    printed, errors = again.communicate(timeout=HANG_SECONDS)
    assert again.returncode == 0, errors
    assert printed.splitlines()[-1] == "3"
    done = [
        line
        for number in (1, 2, 3)
        for line in (
            *(f"topic {number}", f"receipt {number}"),
            f"booked receipt {number} with topic {number}",
        )
    ]
    interrupted = done.index("topic 2")
    assert calls.read_text().splitlines() == [*done[: interrupted + 1], *done[interrupted:]]
