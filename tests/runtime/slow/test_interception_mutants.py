"""No caller of the interception point can be bypassed without a failing test, and there is no way around it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from interception_mutants import BYPASSES, RUNTIME, find_mutants

SERVERS = {"Handlers", "ask_until_valid"}
"""What carries effects out: it must be called by functions that call the interception point."""


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs copies of processes")
def test_a_bypass_at_any_caller_is_noticed() -> None:
    script = Path(__file__).parents[1] / "interception_mutants.py"
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=300, check=False
    )
    first, *others = done.stdout.splitlines()
    assert first == "as it is    nothing failed", done.stderr
    assert [line for line in others if "    failed: " not in line] == [], done.stderr
    assert len(others) == len(list(find_mutants()))


def test_the_callers_are_found() -> None:
    found = [mutant.text for mutant in find_mutants()]
    for name in BYPASSES:
        assert any(text.startswith(f"{name}(") for text in found), name
    assert found.count("session.interceptors") > 2


def find_servers(tree: ast.AST, is_inside: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield the calls that carry effects out, and whether a function around them calls the interception point."""
    for node in ast.iter_child_nodes(tree):
        calls = [inner for inner in ast.walk(node) if isinstance(inner, ast.Call)]
        names = {call.func.id for call in calls if isinstance(call.func, ast.Name)}
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        is_around = is_inside or (is_function and "make_effect_server" in names)
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in SERVERS
        ):
            yield node.func.id, is_inside
        yield from find_servers(node, is_around)


def test_effects_are_carried_out_behind_the_point_only() -> None:
    found = [
        (file.name, *server)
        for file in sorted(RUNTIME.rglob("*.py"))
        for server in find_servers(ast.parse(file.read_bytes()))
    ]
    assert {name for _, name, _ in found} == SERVERS
    assert [(file, name) for file, name, is_inside in found if not is_inside] == []
