"""A directory of its own for each test of the command line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from workplace import Workplace, clean_environment


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    """Return an empty working directory, and an environment without settings of njc."""
    monkeypatch.chdir(tmp_path)
    for name in os.environ.keys() - clean_environment().keys():
        monkeypatch.delenv(name)
    (tmp_path / ".git").mkdir()  # a project ends here: no pyproject.toml above is looked at
    return Workplace(tmp_path)
