"""There is one way to carry out an effect, and the interceptors are asked on it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SESSION = Path(__file__).parents[2] / "runtime" / "njrt" / "block" / "session"
SERVERS = {"handle": "serve", "ask_until_valid": "handle", "handler.serve": "handle"}
"""The calls that carry effects out, and the only functions that make them; `serve` is the interception point."""


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
        for file in sorted(SESSION.glob("*.py"))
        for server in find_servers(ast.parse(file.read_bytes()))
    }
    assert found == set(SERVERS.items())
