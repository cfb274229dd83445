"""A module of the program with the name of one of Python's library: it is judged by where it comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from njrt.values.introspection import is_standard_module
from processes import run_python

MODULE = '''
"""The program's own."""


class Event:
    _kind = "meeting"

    def __init__(self):
        self._guests = ["Ada"]

    def _count(self):
        return len(self._guests)


def run_command():
    return "ran"
'''

PROGRAM = """
import importlib, json, sys

from njrt.execution.execute import Ran, execute, prepare, Snippet
from njrt.execution.scope.opening import make_scope

name, source, named = json.loads(sys.argv[1])
calendar = importlib.import_module(name)
event = calendar.Event()
variables = (lambda: (event, calendar)) if named else (lambda: (event,))
snippet = prepare(source, make_scope(variables))
if isinstance(snippet, Snippet):
    result = execute(snippet)
    print(json.dumps(["ran", result.value] if isinstance(result, Ran) else ["failed", str(result.error)]))
else:
    print(json.dumps(["refused", snippet.message]))
"""


def play(folder: Path, name: str, source: str, named: bool = False) -> list[Any]:
    """Run a snippet in a process where the module of this name is the program's own."""
    done = run_python("-c", PROGRAM, json.dumps([name, source, named]), cwd=folder, timeout=60)
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("form", ["module", "package"])
@pytest.mark.parametrize("name", ["calendar", "graphlib", "colorsys"])
def test_classes_of_a_shadowing_module_are_the_programs_own(
    name: str, form: str, tmp_path: Path
) -> None:
    path = tmp_path / (f"{name}.py" if form == "module" else f"{name}/__init__.py")
    path.parent.mkdir(exist_ok=True)
    path.write_text(MODULE)
    source = "event._guests.append('Bob')\n[event._count(), event._kind, vars(event)]"
    assert play(tmp_path, name, source) == ["ran", [2, "meeting", {"_guests": ["Ada", "Bob"]}]]


@pytest.mark.parametrize("source", ["import {0}\n{0}.run_command()", "from {0} import run_command"])
def test_a_shadowing_module_is_imported_only_where_the_prompt_names_it(
    source: str, tmp_path: Path
) -> None:
    (tmp_path / "calendar.py").write_text(MODULE)
    kind, text = play(tmp_path, "calendar", source.format("calendar"))
    assert (kind, "<calendar>" in text) == ("refused", True)
    (tmp_path / "graphlib.py").write_text(MODULE)
    kind, text = play(tmp_path, "calendar", source.format("graphlib"))  # not loaded yet
    assert (kind, "<graphlib>" in text) == ("refused", True)
    named = "import calendar\ncalendar.run_command()"
    assert play(tmp_path, "calendar", named, named=True) == ["ran", "ran"]


@pytest.mark.parametrize(
    "name", ["calendar", "json", "enum", "collections.abc", "asyncio.queues", "_io"]
)
def test_pythons_own_modules_are_still_known(name: str) -> None:
    assert is_standard_module(name)


@pytest.mark.parametrize("name", ["pydantic", "njrt", "__main__", "tests", ""])
def test_other_modules_are_not_pythons(name: str) -> None:
    assert not is_standard_module(name)
