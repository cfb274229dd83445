"""Options that contradict each other are refused with one line, before anything is read or written."""

from __future__ import annotations

import shlex

import pytest
from workplace import Workplace

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


@pytest.mark.parametrize("call", CASES)
def test_contradictory_options_are_refused(here: Workplace, call: str) -> None:
    here.write(dict.fromkeys(("a.njpy", "a.py"), "def f():\n    pass\n"))
    assert here.njc(*shlex.split(call), code=2).output == f"error: {CASES[call]}\n"
    assert here.files() == ["a.njpy", "a.py"]
