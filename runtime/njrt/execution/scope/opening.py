"""Make the scope of a block run from the arguments that compiled code passes to `run`.

scope = make_scope(lambda: (item, seen), writes="seen")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from types import FunctionType
from typing import Any

from njrt.execution.scope.names import DeclaredNames, find_block_names
from njrt.execution.scope.scope import Scope


def open_scope(
    declared: DeclaredNames,
    variables: Callable[[], tuple[Any, ...]],
    types: Callable[[], Mapping[str, Any]] | None = None,
    ns: MutableMapping[str, Any] | None = None,
) -> Scope:
    """Make the scope of one block run from the arguments that compiled code passes to `run`."""
    assert isinstance(variables, FunctionType)
    fixed = find_block_names(variables.__code__, variables.__qualname__, declared)
    return Scope(fixed, variables, types, ns)


def make_scope(
    variables: Callable[[], tuple[Any, ...]],
    writes: str = "",
    *,
    types: Callable[[], Mapping[str, Any]] | None = None,
    cls: str | None = None,
    ns: MutableMapping[str, Any] | None = None,
    own: str = "",
    at: str = "",
) -> Scope:
    """Make a scope from some of the same arguments, without a compiled call."""
    return open_scope(DeclaredNames(at, writes, cls, own=own), variables, types, ns)
