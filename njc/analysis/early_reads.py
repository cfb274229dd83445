"""Variables that a block reads although no path to it has bound them.

    '''natural
    Put the tone of <text> into <:tone: str>.       NJ205  `text` is not bound yet
    '''
    text = read()

A state is the set of names that may be bound at a point; in loops and `try`, also by the code below the point. Not
seen: names that other modules, `exec` and functions which declare them `global` or `nonlocal` bind.
"""

from __future__ import annotations

import ast
import builtins
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from njc.frontend.blocks import NaturalBlock
from njc.frontend.diagnostics import Diagnostic, make_diagnostic
from njc.frontend.names import NameScope, list_bound_names, list_suites
from njc.frontend.parse import Module
from njc.frontend.references import Reference
from njrt.private_names import mangle

_LOOPS_AND_TRIES = (ast.For, ast.AsyncFor, ast.While, ast.Try, ast.TryStar)


@dataclass(slots=True)
class _Search:
    """What is looked for in one scope, and what has been found."""

    module: Module
    within: Sequence[NaturalBlock]
    """The blocks of the scope, in order."""
    blocks: Mapping[int, NaturalBlock]
    """The same by their offsets."""
    watched: frozenset[str]
    found: dict[str, Reference] = field(default_factory=dict)
    """The first read of each name that nothing has bound."""


def check_early_reads(
    module: Module, scopes: Mapping[NameScope, Sequence[NaturalBlock]]
) -> Iterator[Diagnostic]:
    """Report what blocks read before anything can have bound it, or after `del`."""
    declared = _list_declared(module)
    for scope, within in scopes.items():
        search = _Search(
            module,
            within,
            {block.start: block for block in within},
            frozenset(
                name
                for block in within
                for name in block.names
                if _is_own(name, scope) and name not in declared
            ),
        )
        if scope.kind == "class" or scope.bindings.star_import or not search.watched:
            continue
        given = {
            name
            for name in search.watched
            if mangle(name, scope.mangling_class) in scope.bindings.parameters
        }
        _follow(scope.node.body, frozenset(given), search)
        for name, reference in search.found.items():
            message = f"`{name}` is not bound here: no path to this block binds it"
            hint = "bind it above the block"
            at = reference.start, reference.end
            yield make_diagnostic(module.source, "NJ205", *at, message, hint)


def _list_declared(module: Module) -> frozenset[str]:
    """Return the names that some scope of the module declares global or nonlocal."""
    if not re.search(r"\b(?:global|nonlocal)\b", module.source.text):
        return frozenset()
    return frozenset(
        name
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Global | ast.Nonlocal)
        for name in node.names
    )


def _is_own(name: str, scope: NameScope) -> bool:
    """Return whether statements of the scope bind a name that has no other meaning before."""
    is_builtin = scope.kind == "module" and hasattr(builtins, name)
    return mangle(name, scope.mangling_class) in scope.bindings.bound and not is_builtin


def _follow(body: Sequence[ast.stmt], state: frozenset[str], search: _Search) -> frozenset[str]:
    """Follow statements from the names that may be bound before them to those after them."""
    for statement in body:
        match statement:
            case ast.Expr() if (block := _find_block(statement, search)) is not None:
                for reference in block.references:
                    name = reference.root
                    is_read = reference.needs_value and name not in block.binds
                    if is_read and name in search.watched and name not in state:
                        search.found.setdefault(name, reference)
                state |= frozenset(block.binds)
            case ast.Delete(targets=targets):
                state -= {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(value=None):
                continue
            case _:
                state |= list_bound_names(statement, search.module.source.has_walrus)
                suites = list(list_suites(statement))
                inner = state
                if isinstance(statement, _LOOPS_AND_TRIES):
                    inner |= _list_bound_within(statement, search)
                state = state.union(*(_follow(suite, inner, search) for suite in suites))
    return state


def _find_block(statement: ast.Expr, search: _Search) -> NaturalBlock | None:
    if not search.module.can_open_block(statement.lineno, statement.lineno):
        return None
    source = search.module.source
    return search.blocks.get(source.get_offset(statement.lineno, statement.col_offset))


_get_line = attrgetter("line")


def _list_bound_within(statement: ast.stmt, search: _Search) -> frozenset[str]:
    """Return the watched names that a statement binds anywhere in its suites."""
    first, last = statement.lineno, statement.end_lineno or statement.lineno
    begin = bisect_left(search.within, first, key=_get_line)
    end = bisect_right(search.within, last, key=_get_line)
    bound = {name for block in search.within[begin:end] for name in block.binds}
    waiting = list(list_suites(statement))
    while waiting:
        for inner in waiting.pop():
            bound |= list_bound_names(inner, search.module.source.has_walrus)
            waiting += list_suites(inner)
    return frozenset(bound)
