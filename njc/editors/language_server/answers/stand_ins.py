"""Values that stand in for those of a program that does not run, to be shown as a model would be shown the real ones.

    LIMITS = {"tea": 3}                         the dict
    def search(query: str, limit=10): ...       a function with this signature and docstring, without its code
    @dataclass class Row: ...                   a class with these fields and methods, without their code

Nothing of the program runs: of a definition, only names, annotations as text, docstrings and literals are kept.
"""

from __future__ import annotations
import __future__

import ast
import builtins
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from njc.analysis.class_members import is_dataclass

StandIn = Any
"""A value that has the form of a value of the program."""

_ENUMERATIONS = {"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"}


class NoStandIn(Exception):
    """Nothing is known of the value before the program runs."""


def make_stand_in(statement: ast.AST | None, name: str) -> StandIn:
    """Make the value that a statement gives to `name`; raises NoStandIn where the text does not tell it."""
    match statement:
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            with suppress(ValueError, TypeError, MemoryError, RecursionError):
                return ast.literal_eval(value)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return _execute(_keep_signature(statement), name)
        case ast.ClassDef():
            return _execute(_keep_fields(statement), name)
    raise NoStandIn


def _execute(statement: ast.stmt, name: str) -> StandIn:
    tree = ast.fix_missing_locations(ast.Module([statement], []))
    namespace = _make_namespace()
    try:
        code = compile(
            tree, "<stand-in>", "exec", __future__.annotations.compiler_flag, dont_inherit=True
        )
        exec(code, namespace)
    except Exception as error:  # such as a dataclass whose fields with defaults come first
        raise NoStandIn from error
    return namespace[name]


def _make_namespace() -> dict[str, Any]:
    import dataclasses
    import enum

    names = {name: getattr(enum, name, enum.Enum) for name in _ENUMERATIONS}
    return {"__name__": "__main__", "dataclass": dataclasses.dataclass, **names}


def _keep_signature(
    function: ast.FunctionDef | ast.AsyncFunctionDef,
) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """Return a function of the same signature that does nothing."""
    given = function.args
    arguments = ast.arguments(
        given.posonlyargs,
        given.args,
        given.vararg,
        given.kwonlyargs,
        [_keep_literal(default) if default else None for default in given.kw_defaults],
        given.kwarg,
        [_keep_literal(default) for default in given.defaults],
    )
    decorators: list[ast.expr] = [
        decorator
        for decorator in function.decorator_list
        if isinstance(decorator, ast.Name)
        and decorator.id in ("property", "staticmethod", "classmethod")
    ]
    body: list[ast.stmt] = [_make_docstring(function), ast.Pass()]
    kept = type(function)(function.name, arguments, body, decorators, function.returns)
    if "type_params" in type(function)._fields:
        kept.type_params = []  # type: ignore[union-attr]
    return kept


def _keep_fields(definition: ast.ClassDef) -> ast.ClassDef:
    """Return a class of the same fields, constants and methods whose methods do nothing."""
    bases = [base for base in definition.bases if _is_known_base(base)]
    body = [_make_docstring(definition), *_keep_members(definition)]
    decorators: list[ast.expr] = (
        [ast.Name("dataclass", ast.Load())] if is_dataclass(definition) else []
    )
    kept = ast.ClassDef(definition.name, bases, [], body, decorators)
    if "type_params" in ast.ClassDef._fields:
        kept.type_params = []  # type: ignore[attr-defined]
    return kept


def _keep_members(definition: ast.ClassDef) -> Iterator[ast.stmt]:
    for statement in definition.body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield _keep_signature(statement)
            case ast.AnnAssign(target=ast.Name() as target, annotation=annotation, value=value):
                kept = _keep_literal(value) if value else None
                yield ast.AnnAssign(target, annotation, kept, 1)
            case ast.Assign(targets=[ast.Name()] as targets, value=value):
                yield ast.Assign(targets, _keep_literal(value))


def _is_known_base(base: ast.expr) -> bool:
    if not isinstance(base, ast.Name):
        return False
    return base.id in _ENUMERATIONS or isinstance(getattr(builtins, base.id, None), type)


def _keep_literal(value: ast.expr) -> ast.expr:
    """Return a literal as it is; `...` for all else."""
    with suppress(ValueError, TypeError, MemoryError, RecursionError):
        ast.literal_eval(value)
        return value
    return ast.Constant(...)


def _make_docstring(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> ast.stmt:
    return ast.Expr(ast.Constant(ast.get_docstring(node)))
