"""A directory of its own for each test of static mode."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from studio import Studio


@pytest.fixture
def studio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Studio:
    """An empty working directory, and an environment without settings of njc."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("NJC_", "OPENAI_", "ANTHROPIC_"))]:
        monkeypatch.delenv(name)
    # Test commands that run pytest load it without the plugins of this environment, which take seconds.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (tmp_path / ".git").mkdir()  # a project ends here: no pyproject.toml above is looked at
    return Studio(tmp_path)
