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
    "if c:\n    y = 1\nelse:\n    sys.exit()",
    "try:\n    y = 1\nexcept E:\n    y = 2",
    "try:\n    y = 1\nexcept E:\n    raise",
    "try:\n    f()\nfinally:\n    y = 1",
    "try:\n    f()\nexcept E:\n    y = 1\nelse:\n    y = 2",
    "match x:\n    case 1:\n        y = 1\n    case _:\n        y = 2",
    "match x:\n    case {'a': y}:\n        pass\n    case y:\n        pass",
]
UNBOUND = [
    ("x = 1", "it is never bound"),
    ("y: int", "it is never bound"),
    ("y = 1\ndel y", "it is never bound"),
    ("y == 1", "it is never bound"),
    ("y[0] = 1", "it is never bound"),
    ("def f():\n    y = 1", "it is never bound"),
    ("z = [y for y in xs]", "it is never bound"),
    ("if c:\n    y = 1", "it is not bound when the condition in line 1 is false"),
    ("if c:\n    pass\nelse:\n    y = 1", "it is not bound when the condition in line 1 is true"),
    ("for x in xs:\n    y = 1", "it is not bound when the body of the loop in line 1 never runs"),
    ("while c:\n    y = 1", "it is not bound when the body of the loop in line 1 never runs"),
    ("for y in xs:\n    pass", "it is not bound when the body of the loop in line 1 never runs"),
    (
        "try:\n    y = 1\nexcept E:\n    pass",
        "it is not bound when the exception in line 3 is caught",
    ),
    ("y = 1\ntry:\n    f()\nfinally:\n    del y", "it is never bound"),
    ("with suppress(E):\n    y = 1", "it is not bound when the exception in line 1 is suppressed"),
    ("match x:\n    case 1:\n        y = 1", "not every case in line 1 binds it"),
]


@pytest.mark.parametrize("code", BOUND)
def test_bound_on_every_path(code: str) -> None:
    assert find_unbound_at_end(ast.parse(code).body, ["y"], frozenset()) == {}


@pytest.mark.parametrize(("code", "reason"), UNBOUND)
def test_unbound_on_some_path(code: str, reason: str) -> None:
    assert find_unbound_at_end(ast.parse(code).body, ["y"], frozenset()) == {"y": reason}


def test_what_was_bound_before_stays_bound() -> None:
    assert find_unbound_at_end(ast.parse("if c:\n    y = 1").body, ["y"], frozenset({"y"})) == {}
    assert find_unbound_at_end(ast.parse("del y").body, ["y"], frozenset({"y"}))


@pytest.mark.parametrize(
    ("code", "is_set"),
    [
        ("player.attack = 3", True),
        ("player.attack, player.armor = 3, 4", True),
        ("player.armor = 3", False),
        ("player = 3", False),
        ("equip(player)", True),
        ("player.equip('sword')", True),
        ("if c:\n    player.attack = 3", False),
    ],
)
def test_attribute_paths(code: str, is_set: bool) -> None:
    missing = find_unbound_at_end(ast.parse(code).body, ["player.attack"], frozenset())
    assert (not missing) == is_set


def test_ends() -> None:
    assert not can_reach_end(ast.parse("if c:\n    return\nelse:\n    raise E").body)
    assert can_reach_end(ast.parse("if c:\n    return").body)
