"""No caller of the interception point can be bypassed without a failing test, and there is no way around it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from interception_mutants import BYPASSES, RUNTIME, find_mutants

SERVERS = {"handle": "serve", "ask_until_valid": "handle", "handlers.serve": "handle"}
"""The calls that carry effects out, and the only functions that make them; `serve` is the interception point."""


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
    assert found.count("session.interceptors") + found.count("self.session.interceptors") > 1
    assert found.count("self.interceptors") > 1
    assert found.count("self.serve") > 3


def find_servers(tree: ast.AST, around: str = "") -> Iterator[tuple[str, str]]:
    """Yield the calls that carry effects out, and the name of the function around each."""
    for node in ast.iter_child_nodes(tree):
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        inside = node.name if is_function else around
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).removeprefix("self.")
            if name in SERVERS:
                yield name, around
        yield from find_servers(node, inside)


def test_effects_are_carried_out_behind_the_point_only() -> None:
    found = {
        server
        for file in sorted((RUNTIME / "session").glob("*.py"))
        for server in find_servers(ast.parse(file.read_bytes()))
    }
    assert found == set(SERVERS.items())
