"""A directory of its own for each test of the command."""

from __future__ import annotations

from pathlib import Path

import pytest

OLD = '''\
import nightjarpy as nj


@nj.fn
def double(x):
    """natural
    Put twice <x> into <:y>.
    """
    return y
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working directory with one program for nightjarpy, one file that is none, and a virtual environment."""
    monkeypatch.chdir(tmp_path)
    for name in ("app/double.py", "app/deep/again.py", "app/venv/lib/double.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(OLD)
    (tmp_path / "app" / "venv" / "pyvenv.cfg").write_text("")
    (tmp_path / "app" / "plain.py").write_text("x = 1\n")
    return tmp_path
