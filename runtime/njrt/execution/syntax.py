"""Python's own parser and compiler, whatever other threads do at the same time.

    tree = parse("n += 1")
    code = compiled(tree, "mailbox.njpy:12")

CPython before 3.12.2 counts the depth of a tree in one place for all threads, and where two threads parse at once it
may say `SystemError: AST constructor recursion depth mismatch`, of code that is sound. Asked again, it parses.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import CodeType
from typing import TypeVar

T = TypeVar("T")

_MAX_ATTEMPTS = 50


def parse_python(source: str, filename: str = "<unknown>") -> ast.Module:
    """Do what `ast.parse` does."""
    return _retry_system_error(lambda: ast.parse(source, filename))


def compile_tree(tree: ast.Module, filename: str, flags: int = 0) -> CodeType:
    """Compile a tree as `compile` does, with no flags of the runtime's own."""
    code: CodeType = _retry_system_error(
        lambda: compile(tree, filename, "exec", flags, dont_inherit=True)
    )
    return code


def _retry_system_error(action: Callable[[], T]) -> T:
    for _ in range(_MAX_ATTEMPTS):
        try:
            return action()
        except SystemError:
            continue
    return action()
