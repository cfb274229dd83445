"""A directory of its own for each test of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from workplace import Workplace, enter_folder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    """Return an empty working directory, and an environment without settings of njc."""
    enter_folder(tmp_path, monkeypatch)
    return Workplace(tmp_path)
