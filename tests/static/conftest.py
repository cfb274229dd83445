"""A directory of its own for each test of static mode."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from studio import Studio
from workplace import enter_folder


@pytest.fixture
def studio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Studio]:
    """Yield an empty working directory, an environment without settings of njc, and no modules left afterwards."""
    enter_folder(tmp_path, monkeypatch)
    # Test commands that run pytest load it without the plugins of this environment, which take seconds.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    known = set(sys.modules)
    yield Studio(tmp_path)
    for name in set(sys.modules) - known:
        if getattr(sys.modules[name], "__spec__", None) is None:  # made by the test
            del sys.modules[name]
