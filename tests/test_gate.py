"""The gate runs every check, whichever run side by side."""

from __future__ import annotations

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
    "/pytest -n 3",
    "/pytest tests/runtime/test_code_lines.py",
    "/pytest tests/spsbench/test_bad_input.py tests/spsbench/test_collecting.py",
    "/pytest tests/spsbench/test_crux.py tests/spsbench/test_program_states.py",
    "njc build examples -o compiled_out/examples --check",
    "njc build spsbench/programs -o compiled_out/spsbench --check",
    "njc build spsbench/programs -o compiled_out/spsbench_static --mode static",
    "bench/static_checks.py --check",
    "--out spsbench/results --check",
    "--out spsbench/results/natural --check",
    "--out spsbench/results/repair/report.md --check",
    "docs/site/build_site.py",
)


def test_the_gate_runs_every_check() -> None:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    *_, last = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    shown = subprocess.run(
        [*last.split(), "--dry-run"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert shown.returncode == 0, shown.stderr
    assert [check for check in CHECKS if check not in shown.stdout] == []
