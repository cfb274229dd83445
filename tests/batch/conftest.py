"""A working directory of its own for each test of `njc batch`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from batch_workplace import FOREIGN, BatchWorkplace


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BatchWorkplace:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(FOREIGN)]:
        monkeypatch.delenv(name)
    (tmp_path / ".git").mkdir()
    return BatchWorkplace(tmp_path)
