"""`njc batch --vendor-batch` killed with SIGKILL at points of its waves: nothing is lost or asked twice.

A share of the points; `python bench/batch_kills.py` kills at more.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from killing import SERVERS, KilledRun, kill_at

pytest.importorskip("openai")
pytest.importorskip("anthropic")

POINTS = {
    "openai": ("vendor.OpenAIBatches.submit:return:1", "waves.Waves._end_batch:call:1"),
    "anthropic": ("waves.Waves._submit:call:1", "journal.RequestJournal._put_reply:return:3"),
}
"""While requests are sent, and while replies are read."""


@pytest.mark.parametrize("vendor", SERVERS)
def test_a_batch_killed_at_any_point_goes_on(tmp_path: Path, vendor: str) -> None:
    found = kill_at(vendor, tmp_path, POINTS[vendor])
    assert found == dict.fromkeys(POINTS[vendor], KilledRun(True, ""))
