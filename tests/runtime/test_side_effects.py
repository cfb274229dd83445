"""Contracts over properties, operators and special methods: what computes is checked, and what has effects is left to Python.

METHODS are bodies of a method of `Box`; the contract is `box.value == 4` after a block that binds `box.n`.
"""

from __future__ import annotations

import gc
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import njrt
from njc.compiler import compile_source
from njc.frontend.source import SourceFile
from njrt.execution.contracts import Contract
from njrt.models.scripted import run
from njrt.timeouts import DeadlineExceeded, call_with_timeout

HEAD = """\
import functools
import logging
import os
from dataclasses import dataclass

LOG: list[object] = []
TOTAL = 0


def note(value):
    LOG.append(value)
    return value


@dataclass(frozen=True)
class Money:
    n: int

    def __add__(self, other):
        return Money(self.n + other.n)


class Length:
    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return self.n == other


class Gone:
    def __del__(self):
        note("gone")


class Box:
    def __init__(self, n):
        self.n = n
        self.rows = [3, 1]
        self.counts = {}
        self.cache = None
        self.taken = iter([1, 2])

    def __len__(self):
        LOG.append("len")
        return self.n

    def __contains__(self, item):
        self.counts[item] = 1
        return True

    def __getattr__(self, name):
        LOG.append(name)
        return self.n

    def __getitem__(self, key):
        return self.n + key

    def sum(self, rows):
        return sum(rows) + self.n

    @functools.cached_property
    def kept(self):
        return self.n

"""
COMPUTING = {
    "arithmetic": "return self.n",
    "a comprehension": "return sum(0 for row in self.rows) + self.n",
    "lists of its own": "rows = []\nfor row in self.rows:\n    rows.append(row)\nrows.sort()\nreturn self.n + 0 * len(rows)",
    "a dict of its own": "found = {}\nfound['n'] = self.n\nfound.update(a=1)\nreturn found['n']",
    "the first of a generator": "return next(self.n for row in self.rows)",
    "another method": "return self.sum([])",
    "a lambda": "return sorted([self.n], key=lambda row: -row)[0]",
    "a new object": "return (Money(self.n) + Money(0)).n",
    "an object that is not frozen": "return 4 if Length(self.n) == 4 else self.n",
    "an item": "return self[0]",
    "a function in it": "def make():\n    return self.n\nreturn make()",
    "a text": "return int(f'{self.n}')",
    "a module": "return self.n + 0 * len(os.path.basename('a'))",
    "a value that is kept": "return self.kept",
    "a docstring": "'''One.\n\nof any width'''\nreturn self.n",
}
EFFECTS = {
    "an attribute": "self.n += 0\nreturn self.n",
    "an item of an attribute": "self.counts['a'] = 1\nreturn self.n",
    "a list": "self.rows.append(1)\nreturn self.n",
    "a list by another name": "LOG.append(1)\nreturn self.n",
    "a global": "global TOTAL\nTOTAL += 1\nreturn self.n",
    "a function": "return note(self.n)",
    "a function that errors are kept from": "try:\n    return note(self.n)\nexcept Exception:\n    return self.n",
    "an iterator": "next(self.taken)\nreturn self.n",
    "a cache": "if self.cache is None:\n    self.cache = self.n\nreturn self.cache",
    "output": "print(self.n)\nreturn self.n",
    "a log": "logging.getLogger('box').warning(self.n)\nreturn self.n",
    "a process": "return self.n + 0 * os.getpid()",
    "a length": "return len(self)",
    "a membership": "return self.n if 1 in self else 0",
    "an attribute that is missing": "return self.missing",
    "a function in it": "def make():\n    self.n += 0\n    return self.n\nreturn make()",
    "a lambda": "return (lambda: LOG.append(1) or self.n)()",
    "a deletion": "self.extra = 1\ndel self.extra\nreturn self.n",
}


def load(folder: Path, text: str, name: str) -> ModuleType:
    """Import a program from its file, as its text shows what its functions do."""
    file = folder / f"{name}.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def write(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[str], ModuleType]:
    """Return a function that makes a module whose class `Box` has a property of this body."""
    name = f"side_effects_{abs(hash(request.node.nodeid))}"

    def make(body: str) -> ModuleType:
        lines = "".join(f"        {line}\n" for line in body.split("\n"))
        return load(tmp_path, f"{HEAD}    @property\n    def value(self):\n{lines}", name)

    return make


def describe(module: ModuleType, box: Any) -> str:
    return str((module.LOG, module.TOTAL, box.__dict__ | {"taken": box.taken.__reduce__()}))


@pytest.mark.parametrize("body", COMPUTING.values(), ids=COMPUTING)
def test_code_that_computes_is_evaluated(write: Callable[[str], ModuleType], body: str) -> None:
    module = write(body)
    box = module.Box(3)
    before = describe(module, box)
    breach = Contract(["box.value == 4"], [lambda: (box,)]).find_breach(lambda _, value: str(value))
    assert "box.value = 3" in str(breach)
    assert describe(module, box) == before


@pytest.mark.parametrize("body", EFFECTS.values(), ids=EFFECTS)
def test_code_that_has_effects_is_left_to_the_program(
    write: Callable[[str], ModuleType], body: str, capsys: pytest.CaptureFixture[str]
) -> None:
    module = write(body)
    box = module.Box(3)
    before = describe(module, box)
    for texts in (["box.value == 4"], ["box.value == 4", "box.n == 4"], ["box.n < 0, box.value"]):
        breach = Contract(texts, [lambda: (box,)]).find_breach(lambda _, value: str(value))
        assert (breach is None) == (texts[0] == "box.value == 4")
    assert describe(module, box) == before
    assert capsys.readouterr().out == ""
    assert sys.getprofile() is None


PROGRAM = (
    HEAD
    + '''\
    @property
    def value(self):
        BODY
        return self.n


def f():
    box = Box(3)
    """natural
    Put a number into <:box.n: int>.
    """
    assert box.value == 4, "not four"
    return box.n
'''
)


@pytest.mark.parametrize(("body", "asked"), [("pass", 2), ("LOG.append(self.n)", 1)])
def test_an_assert_with_effects_is_evaluated_by_python_alone(
    tmp_path: Path, body: str, asked: int
) -> None:
    source = SourceFile("program.njpy", PROGRAM.replace("BODY", body).encode())
    compiled = compile_source(source).output
    assert compiled is not None
    module = load(tmp_path, compiled.decode(), f"side_effects_in_a_program_{asked}")
    replies = [run("box.n = 5", done=True), run("box.n = 4", done=True)]
    model = njrt.Scripted(replies, protocol="text")
    with njrt.using(model=model):
        if asked == 2:
            assert module.f() == 4
        else:
            with pytest.raises(AssertionError, match="not four"):
                module.f()
    assert len(model.requests) == asked
    log: list[object] = module.LOG
    assert log == ([5] if asked == 1 else [])


@pytest.mark.parametrize("is_enabled", [True, False])
def test_objects_that_are_deleted_meanwhile_are_deleted(
    write: Callable[[str], ModuleType], is_enabled: bool
) -> None:
    module = write("Gone()\nreturn self.n")
    box = module.Box(3)
    if not is_enabled:
        gc.disable()
    try:
        breach = Contract(["box.value == 4"], [lambda: (box,)]).find_breach(lambda _, it: str(it))
        assert gc.isenabled() == is_enabled
    finally:
        gc.enable()
    assert breach is not None
    assert set(module.LOG) == {"gone"}


def test_an_endless_property_is_stopped_and_leaves_nothing(
    write: Callable[[str], ModuleType],
) -> None:
    module = write("while self.n:\n    pass")
    box = module.Box(3)
    contract = Contract(["box.value == 4"], [lambda: (box,)])
    with pytest.raises(DeadlineExceeded):
        call_with_timeout(0.2, lambda: contract.find_breach(lambda _, it: str(it)))
    assert sys.getprofile() is None
    assert gc.isenabled()


def test_a_profiler_of_the_program_stays(write: Callable[[str], ModuleType]) -> None:
    module = write("return self.n")
    box = module.Box(3)
    seen: list[str] = []
    sys.setprofile(lambda frame, event, _: seen.append(event))
    try:
        breach = Contract(["box.value == 4"], [lambda: (box,)]).find_breach(lambda _, it: str(it))
        assert sys.getprofile() is not None
    finally:
        sys.setprofile(None)
    assert breach is not None
    assert "call" in seen
