"""Python's parser and compiler, safe to call from several threads.

    tree = parse_python("n += 1")
    code = compile_tree(tree, "mailbox.njpy:12")

CPython before 3.12.2 counts the depth of a tree in a variable shared by all threads. If two threads
parse at the same time, it may raise `SystemError: AST constructor recursion depth mismatch` for
valid code; a second call succeeds.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from types import CodeType
from typing import TypeVar

T = TypeVar("T")
_MAX_ATTEMPTS = 50


def parse_python(source: str, filename: str = "<unknown>") -> ast.Module:
    """Parse source as `ast.parse` does; its warnings are never errors."""
    return _retry(lambda: ast.parse(source, filename))


def compile_tree(tree: ast.Module, filename: str, flags: int = 0) -> CodeType:
    """Compile a tree as `compile` does, without inheriting the flags of this module."""
    code: CodeType = _retry(lambda: compile(tree, filename, "exec", flags, dont_inherit=True))
    return code


def _retry(action: Callable[[], T]) -> T:
    for _ in range(_MAX_ATTEMPTS):
        try:
            return action()
        except SystemError:
            continue
        except SyntaxError:  # or a warning, if a filter such as `-W error` makes it an error
            with warnings.catch_warnings(action="ignore"):
                return action()
    return action()
