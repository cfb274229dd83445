"""Definite assignment: on which paths a name is bound, as a table."""

from __future__ import annotations

import ast

import pytest

from njc.static.assignment import can_reach_end, find_unbound_at_end

BOUND = [
    "y = 1",
    "y: int = 1",
    "(x, (y, z)) = 1, (2, 3)",
    "[x, *y] = range(3)",
    "print(y := 1)",
    "import a.b as y",
    "from a import b as y",
    "def y(): ...",
    "class y: ...",
    "if c:\n    y = 1\nelse:\n    y = 2",
    "if c:\n    return\ny = 1",
    "if c:\n    y = 1\nelse:\n    raise ValueError",
    "if c:\n    y = 1\nelif d:\n    break\nelse:\n    continue",
    "for x in xs:\n    pass\nelse:\n    y = 1",
    "for x in xs:\n    if x:\n        y = 1\n        break\nelse:\n    y = 2",
    "while True:\n    y = f()\n    if y:\n        break",
    "while True:\n    if c:\n        return",
    "with f() as y:\n    pass",
    "with f():\n    y = 1",
    "try:\n    y = 1\nexcept E:\n    y = 2",
    "try:\n    y = 1\nexcept E:\n    raise",
    "try:\n    f()\nfinally:\n    y = 1",
    "try:\n    f()\nexcept E:\n    y = 1\nelse:\n    y = 2",
    "match x:\n    case 1:\n        y = 1\n    case _:\n        y = 2",
    "match x:\n    case {'a': y}:\n        pass\n    case y:\n        pass",
]
UNBOUND = [
    "x = 1",
    "y: int",
    "y = 1\ndel y",
    "y == 1",
    "y[0] = 1",
    "def f():\n    y = 1",
    "z = [y for y in xs]",
    "if c:\n    y = 1",
    "if c:\n    pass\nelse:\n    y = 1",
    "for x in xs:\n    y = 1",
    "while c:\n    y = 1",
    "for y in xs:\n    pass",
    "try:\n    y = 1\nexcept E:\n    pass",
    "match x:\n    case 1:\n        y = 1",
]


@pytest.mark.parametrize("code", BOUND)
def test_bound_on_every_path(code: str) -> None:
    assert find_unbound_at_end(ast.parse(code).body, ["y"], frozenset()) == []


@pytest.mark.parametrize("code", UNBOUND)
def test_unbound_on_some_path(code: str) -> None:
    assert find_unbound_at_end(ast.parse(code).body, ["y"], frozenset()) == ["y"]


def test_what_was_bound_before_stays_bound() -> None:
    assert find_unbound_at_end(ast.parse("if c:\n    y = 1").body, ["y"], frozenset({"y"})) == []
    assert find_unbound_at_end(ast.parse("del y").body, ["y"], frozenset({"y"}))


def test_ends() -> None:
    assert not can_reach_end(ast.parse("if c:\n    return\nelse:\n    raise E").body)
    assert can_reach_end(ast.parse("if c:\n    return").body)
