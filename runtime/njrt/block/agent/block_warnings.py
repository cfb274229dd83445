"""Find a sign that a block has done nothing: a warning, not an error, because that may be right.

    Mark <tasks> as done.              pass                  the block has changed nothing

The objects from before the block and after it are compared. Code that may act elsewhere is exempt.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from types import ModuleType

from njrt.execution.computing import METHOD_NAMES, is_computing
from njrt.execution.scope.scope import Scope
from njrt.execution.snippet_analysis import parse_snippet
from njrt.values.introspection import get_class_namespace, get_module_name, get_mro, is_a
from njrt.values.snapshot import State, is_same_state, read_state

MAX_PARTS = 2_000


def read_before(scope: Scope) -> State | None:
    """Return the state of what a block may change; None if that is too large, or not only data."""
    values = [*scope.list_variables().values()]
    is_open = any(callable(value) or is_a(value, ModuleType) for value in values)
    return None if is_open else read_state(values, MAX_PARTS)


def find_warnings(codes: Sequence[str], before: State | None) -> tuple[str, ...]:
    """Return the warnings of a block that has run codes; `before` is None if it binds or jumps."""
    if before is None or not is_same_state(before, read_state(before[0][0], MAX_PARTS)):
        return ()
    classes = [base for value, _ in before for base in get_mro(type(value))]
    own = [each for each in classes if get_module_name(each) not in ("builtins", "collections")]
    methods = METHOD_NAMES.difference(*map(get_class_namespace, own))
    acts_elsewhere = any(_may_act_elsewhere(code, methods) for code in codes)
    return () if acts_elsewhere else ("the block has changed nothing",)


def _may_act_elsewhere(code: str, methods: frozenset[str]) -> bool:
    """Return whether code calls more than computing functions and `methods` of data."""
    try:
        nodes = [*ast.walk(parse_snippet(code))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # it ran after a normalization
        return True
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    known = [each for each in called if isinstance(each, ast.Attribute) and each.attr in methods]
    names = [each.id for each in called if isinstance(each, ast.Name)]
    known_names = [name for name in names if is_computing(getattr(builtins, name, None))]
    others = ast.With | ast.AsyncWith | ast.Await | ast.Import | ast.ImportFrom
    acts = any(isinstance(node, others) for node in nodes)
    return acts or len(called) > len(known) + len(known_names)
