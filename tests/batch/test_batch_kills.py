"""`njc batch --vendor-batch` killed with SIGKILL at points of its waves: nothing is lost or asked twice.

A share of the points; `python bench/batch_kills.py` kills at more.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from killing import SERVERS, kill_at

pytest.importorskip("openai")
pytest.importorskip("anthropic")

POINTS = {"openai": (1000, 2800), "anthropic": (1500, 2900)}
"""Of about 3,400: while requests are sent, and while replies are read."""


@pytest.mark.parametrize("vendor", SERVERS)
def test_a_batch_killed_at_any_point_goes_on(tmp_path: Path, vendor: str) -> None:
    found = kill_at(vendor, tmp_path, POINTS[vendor])
    assert {point: run.problem for point, run in found.items()} == dict.fromkeys(POINTS[vendor], "")
