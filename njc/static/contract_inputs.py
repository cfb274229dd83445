"""A block's possible inputs, for testing its code: parameters, and items of parameters, that no earlier code limits.

    def f(rows: list[int], n: int):
        size = len(rows)
        for row in rows:
            (a block that reads <row> and <n>)      find_inputs(..., {"row", "n"})    {"row": "int", "n": "int"}

A parameter's first item can be any value of its type. If earlier code may raise an exception or jump for some values,
or change them, the inputs are unknown, and the result is an empty mapping.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence, Set

from njc.analysis.authority import decide_authority
from njc.analysis.types import unquote
from njc.frontend.blocks import NaturalBlock
from njc.frontend.name_resolution import list_named_parameters
from njc.frontend.prompt_references import format_annotation, list_variables
from njc.static.fit import StaticFile

_TOTAL = frozenset(
    [
        *("abs", "bool", "callable", "dict", "enumerate", "format", "frozenset", "id", "isinstance", "len", "list"),
        *("print", "range", "repr", "reversed", "set", "sorted", "str", "tuple", "type", "zip"),
    ]
)  # fmt: skip
"""Builtins that do not raise exceptions for values of fitting types."""
_Part = ast.stmt | ast.withitem


def find_inputs(file: StaticFile, block: NaturalBlock, needed: Collection[str]) -> dict[str, str]:
    """Return the types of a block's needed variables; empty if one has another source, or limits."""
    node, types = block.scope.node, file.analysis.types
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    kinds = {
        each.arg: format_annotation(unquote(each.annotation))
        for each in list_named_parameters(node.args)
        if each.annotation is not None
    }
    before: list[_Part] = []
    loops: list[tuple[str, str]] = []
    if not _follow(node.body, block, before, loops):
        return {}
    for target, iterable in loops:
        name = ast.Name(iterable, ast.Load())
        owner, typed = types.infer(name, block.scope), types.element_of(name, block.scope)
        if iterable not in kinds or iterable in needed or owner is None or typed is None:
            return {}
        if types.name_of(types.expand(owner)) == "str":  # its items have a length
            return {}
        kinds[target] = format_annotation(unquote(typed.annotation))
    used = {*needed, *(iterable for _, iterable in loops)}
    if not needed or not used <= kinds.keys() or _has_limits(file, block, before, used):
        return {}
    return {name: kinds[name] for name in sorted(needed)}


def _follow(
    body: Sequence[ast.stmt],
    block: NaturalBlock,
    before: list[_Part],
    loops: list[tuple[str, str]],
) -> bool:
    """Collect the code before a block's first run, and the loops around it; return whether it always runs."""
    for statement in body:
        if not statement.lineno <= block.line <= (statement.end_lineno or 0):
            before.append(statement)
            continue
        match statement:
            case ast.Expr(value=ast.Constant() | ast.JoinedStr()):
                return True
            case ast.With(items=items, body=inner) | ast.AsyncWith(items=items, body=inner):
                before += items
                return _follow(inner, block, before, loops)
            case ast.Try(body=inner) | ast.TryStar(body=inner):
                return _follow(inner, block, before, loops)
            case ast.For(target=ast.Name(target), iter=ast.Name(iterable), body=inner):
                loops.append((target, iterable))
                return _follow(inner, block, before, loops)
            case _:
                before.append(statement)
    return False


def _has_limits(
    file: StaticFile, block: NaturalBlock, before: Sequence[_Part], inputs: Collection[str]
) -> bool:
    """Return whether code before a block may end the function for some inputs, or change them."""
    types = file.analysis.types
    for other in file.analysis.blocks:
        if other.scope is block.scope and other.start < block.start:
            authority = decide_authority(other, types, file.project)
            if authority.effects != "answer" or authority.labels or {*inputs} & {*other.binds}:
                return True
    nodes = [node for part in before if part not in block.requires for node in ast.walk(part)]
    names = [node for node in nodes if isinstance(node, ast.Name)]
    stored = {name.id for name in names if not isinstance(name.ctx, ast.Load)}
    tainted = {*inputs, *stored}
    limiting = [node for node in nodes if _may_limit(node, tainted)]
    return not stored.isdisjoint(inputs) or any(
        not isinstance(node, ast.Call)
        or not isinstance(node.func, ast.Name)
        or node.func.id not in _TOTAL
        or not types.is_builtin(node.func.id, block.scope)
        for node in limiting
    )


def _may_limit(node: ast.AST, tainted: Set[str]) -> bool:
    """Return whether part of the code may jump, raise an exception for some values, or change them."""
    match node:
        case ast.Return() | ast.Raise() | ast.Assert() | ast.Break() | ast.Continue():
            return True
        case ast.Yield() | ast.YieldFrom() | ast.Attribute(ctx=ast.Store() | ast.Del()):
            return True
        case ast.Tuple(ctx=ast.Store()) | ast.List(ctx=ast.Store()):
            return True
        case (
            ast.Call()
            | ast.Subscript()
            | ast.BinOp(op=ast.Div() | ast.FloorDiv() | ast.Mod() | ast.Pow())
        ):
            return not tainted.isdisjoint(list_variables(node))
    return False
