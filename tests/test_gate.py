"""The gate runs every check, whichever run side by side."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CHECKS = (
    "ruff format --check .",
    "ruff check .",
    "/mypy",
    "/pyright",
    "/pytest -n 3 --dist worksteal -m 'not slow'",
    "/pytest -n 3 --dist worksteal -m slow",
    "find tests -path '*/tracing/test_*.py' | xargs -n 1 -P 2 .venv/bin/pytest",
    "njc build examples -o compiled_out/examples --check",
    "njc build spsbench/programs -o compiled_out/spsbench --check",
    "cd spsbench/static && ",
    "/njc build --locked --check",
    "bench/static_checks.py --check",
    "--out spsbench/results/report.md --check",
    "--out spsbench/results/repair/report.md --check",
    "docs/site/build_site.py",
)


def test_the_gate_runs_every_check() -> None:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    calls = [line.split() for line in lines if line.startswith("make ")]
    shown = ""
    for call in calls:
        ran = subprocess.run(
            [*call, "--dry-run", "--always-make"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert ran.returncode == 0, ran.stderr
        shown += ran.stdout
    assert [check for check in CHECKS if check not in shown] == []


def test_pushes_are_tested_on_every_version_of_the_package() -> None:
    workflow = (ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    versions = re.findall(r"Python :: (3\.\d+)", project)
    assert re.findall(r'"(3\.\d+)"', workflow) == versions
    assert "run: make test\n" in workflow
