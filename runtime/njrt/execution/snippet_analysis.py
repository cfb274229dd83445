"""The analysis of a snippet by its text alone, made once per text: its tree, names and jumps.

    "if n > 3: break"   ──analyze_snippet──>   SnippetAnalysis(tree, names.read: n, jumps: `break`)

A block in a loop often runs the same code again; then only the checks that depend on its variables
are repeated.
"""

from __future__ import annotations
import __future__

import ast
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from njrt.execution.lowering import HostJump, find_host_jumps
from njrt.execution.symbols import SnippetNames, find_names
from njrt.execution.syntax import parse_python


@dataclass(frozen=True, slots=True, eq=False)
class SnippetAnalysis:
    """A parsed snippet; its tree must not be changed."""

    tree: ast.Module
    nodes: tuple[ast.AST, ...]
    """All nodes, outer ones first."""
    checked_nodes: tuple[ast.AST, ...]
    """The nodes that checks inspect: all except operators and names that are only read."""
    names: SnippetNames
    used_names: tuple[str, ...]
    """All names that it binds or reads, sorted."""
    jumps: tuple[HostJump, ...]
    """The jumps that act on the program."""
    flags: int
    """The compiler flags, including its `__future__` imports."""


@lru_cache(maxsize=64)
def analyze_snippet(source: str, class_name: str | None, future_flags: int) -> SnippetAnalysis:
    """Parse and analyse a snippet, inside the class `class_name` if given."""
    tree = parse_snippet(source)
    flags = future_flags | _read_future_flags(tree)
    names = find_names(tree, class_name, lazy_annotations=bool(flags))
    nodes = tuple(ast.walk(tree))
    return SnippetAnalysis(
        tree,
        nodes,
        tuple(node for node in nodes if _is_checked(node)),
        names,
        tuple(sorted({*names.bound, *names.read, *names.nested} - {"__class__"})),
        tuple(find_host_jumps(tree.body)),
        flags,
    )


def _is_checked(node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        return not isinstance(node.ctx, ast.Load)
    return not isinstance(
        node, ast.expr_context | ast.operator | ast.unaryop | ast.cmpop | ast.Expr
    )


def parse_snippet(source: str) -> ast.Module:
    """Parse a snippet; common indentation is ignored, without changing its strings."""
    try:
        return parse_python(source, "<natural block>")
    except IndentationError:
        with suppress(SyntaxError):
            tree = parse_python(f"if True:\n{source}")
            if len(tree.body) == 1 and isinstance(tree.body[0], ast.If):
                return ast.increment_lineno(ast.Module(tree.body[0].body, []), -1)
        raise


def _read_future_flags(tree: ast.Module) -> int:
    return sum(
        getattr(__future__, alias.name).compiler_flag
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
        for alias in node.names
        if alias.name == "annotations"
    )
