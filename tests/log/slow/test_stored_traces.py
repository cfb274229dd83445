"""Traces in a store: of several processes, shown by `njc trace`, and harmless where the store fails."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

import njrt
from njrt.stores import Store
from njrt.testing import Scripted
from processes import run_python

PROGRAM = """
import njrt, sys
with njrt.using(model=njrt.Scripted(["3"]), trace="store:night/1", store=sys.argv[1]):
    njrt.llm("How many?")
"""


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_processes_write_one_trace(url: str, store: Store) -> None:
    children = [subprocess.Popen([sys.executable, "-c", PROGRAM, url]) for _ in range(2)]
    assert [child.wait(100) for child in children] == [0, 0]
    events = [json.loads(line) for line in store.read_log("trace/night%2F1")]
    runs = {event["run"] for event in events}
    assert len(runs) == 2
    for run in runs:
        kinds = [event["event"] for event in events if event["run"] == run]
        assert (kinds[0], kinds[-1]) == ("began", "ended")


def test_the_command_shows_a_stored_trace(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/s.sqlite3"
    with njrt.using(model=Scripted(["3"]), trace="store:nightly", store=url):
        njrt.llm("How many?")
    command = [sys.executable, "-m", "njc", "trace"]
    environ = os.environ | {"NJC_STORE": url}
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text(f'[tool.njc]\nstore = "{url}"\n')
    for folder, variables in ((tmp_path, environ), (project, dict(os.environ))):
        shown = subprocess.run(
            [*command, "store:nightly"],
            env=variables,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert "completed" in shown.stdout or "returned" in shown.stdout, shown.stderr
    used = run_python("-m", "njc", "store", "usage", cwd=project, timeout=100)
    assert used.stderr == f"{tmp_path}/s.sqlite3: no budget has been used\n"
    missing = subprocess.run(
        [*command, "store:none"], env=environ, capture_output=True, text=True, timeout=100
    )
    assert missing.returncode == 2
    assert "has no trace `store:none`" in missing.stderr


def test_a_store_that_fails_costs_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    url = "sqlite:////proc/none/store.sqlite3"
    with (
        caplog.at_level(logging.WARNING, "njrt"),
        njrt.using(model=Scripted(["3", "4"]), trace="store:nightly", store=url),
    ):
        assert [njrt.llm("How many?"), njrt.llm("How many?")] == ["3", "4"]
    warnings = [record.getMessage() for record in caplog.records]
    assert ["not written any more" in warning for warning in warnings].count(True) == 1
