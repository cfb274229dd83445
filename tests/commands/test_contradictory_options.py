"""Options that contradict each other are refused with one line, before anything is read or written."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from njc.commands import njc

PREDICTED = "does nothing with --predicted, which runs nothing"
CASES = {
    "debug --call 'f(1)' a.njpy": "--call needs --predicted",
    "debug --call 'f(1)' --recording r a.njpy": "--call needs --predicted",
    "debug --predicted a:b --call 'f(1)' --model m a.py": f"--model {PREDICTED}",
    "debug --predicted a:b --call 'f(1)' a.py x": f"ARGUMENTS {PREDICTED}",
    "batch a.njpy:f r -o o --scheduler x": "--scheduler needs --executor dask",
    "build --clean --locked": "--locked does nothing with --clean, which builds nothing",
    "build --unreviewed": "--unreviewed needs --locked",
    "show a.njpy --line a.py:3": "FILE cannot be given with --line",
    "mcp add box --url http://127.0.0.1:9/mcp -- x": "the MCP server box needs a command or a URL, not both",
    "mcp add box --header a=b -- x": "--header needs --url",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a.njpy").write_text("def f():\n    pass\n")
    (tmp_path / "a.py").write_text("def f():\n    pass\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("call", CASES)
def test_contradictory_options_are_refused(folder: Path, call: str) -> None:
    before = sorted(folder.rglob("*"))
    result = CliRunner(catch_exceptions=False).invoke(njc, shlex.split(call))
    assert (result.exit_code, result.output) == (2, f"error: {CASES[call]}\n")
    assert sorted(folder.rglob("*")) == before
