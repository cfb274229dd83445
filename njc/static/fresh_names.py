"""Names that a program uses, and names that it does not.

find_taken_names(tree, blocks)     every identifier of a scope or module, with those of its prompts
make_fresh_name("total", taken)    "total", or "total_2" where that is taken
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from itertools import count

from njc.frontend.blocks import NaturalBlock


def find_taken_names(tree: ast.AST, blocks: Iterable[NaturalBlock]) -> frozenset[str]:
    """Collect the identifiers of a tree and of the prompts in it."""
    names = {name for node in ast.walk(tree) for name in _list_identifiers(node)}
    return frozenset(names | {name for block in blocks for name in block.names})


def _list_identifiers(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name) | ast.arg(arg=name):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.alias(name=path, asname=name):
            yield name or path.partition(".")[0]
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            yield from names
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            yield name
        case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield name


def make_fresh_name(name: str, taken: Collection[str]) -> str:
    """Return the name, or the first numbered one that is not taken."""
    if name not in taken:
        return name
    return next(candidate for number in count(2) if (candidate := f"{name}_{number}") not in taken)
