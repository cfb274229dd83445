"""The needs of an effect: its kind and its code's jumps, imports and attributes; for a call, its function.

Run("import json\nreturn json.loads(text).get('a')", True)
    EffectNeeds(effects={"Run"}, jumps={"return"}, imports={"json"}, attributes={"get", "loads"})

Not detected: which object an attribute belongs to, names that are made while the code runs (`getattr` itself counts
as an attribute), and the effects of program functions that the code calls.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from operator import or_, sub

from njrt.effects import (
    BreakLoop,
    ContinueLoop,
    Effect,
    Goto,
    Perform,
    RaiseError,
    RaiseNamed,
    ReturnAnswer,
    ReturnValue,
    Touch,
    get_effect_code,
)
from njrt.execution.lowering import find_exits
from njrt.execution.syntax import parse_python
from njrt.records import fields, record

DYNAMIC_NAMES = frozenset([
    "getattr", "setattr", "delattr", "vars", "eval", "exec", "compile", "__import__", "attrgetter",
    "methodcaller",
])  # fmt: skip
"""Functions that let code reach attributes that its text does not show."""


@record
class EffectNeeds:
    """The needs of one or more effects."""

    effects: frozenset[str] = frozenset()
    jumps: frozenset[str] = frozenset()
    imports: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    """The attributes that code calls, reads or sets, without the objects that they belong to."""
    calls: frozenset[str] = frozenset()
    """The gated functions that code has called, and the interfaces' effects."""

    @property
    def parts(self) -> dict[str, frozenset[str]]:
        return {part.name: getattr(self, part.name) for part in fields(self)}

    def __or__(self, other: EffectNeeds) -> EffectNeeds:
        return EffectNeeds(*map(or_, self.parts.values(), other.parts.values()))

    def __sub__(self, other: EffectNeeds) -> EffectNeeds:
        return EffectNeeds(*map(sub, self.parts.values(), other.parts.values()))

    def __bool__(self) -> bool:
        return any(self.parts.values())

    def __str__(self) -> str:
        return "; ".join(
            f"{name}: {', '.join(sorted(values))}" for name, values in self.parts.items() if values
        )


@record
class CodeNames:
    """Names in code, in textual order."""

    imports: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    jumps: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    binds: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    """Targets such as `box.items` or `prices[0]` that the code assigns to or deletes."""
    calls: tuple[str, ...] = ()


def find_needs(effect: Effect) -> EffectNeeds:
    """Return the needs of an effect; raises SyntaxError, ValueError or RecursionError for code that does not parse."""
    if isinstance(effect, Touch):
        return EffectNeeds(calls=frozenset({effect.function}))
    if isinstance(effect, Perform):  # recordings do not have the interface's name
        return EffectNeeds(calls=frozenset({effect.function.rpartition(".")[2]}))
    code = get_effect_code(effect)
    names = CodeNames() if code is None else find_code_names(code)
    jumps = (*names.jumps, *_list_effect_jumps(effect))
    return EffectNeeds(
        frozenset({type(effect).__name__}),
        frozenset(jumps),
        frozenset(names.imports),
        frozenset(names.attributes),
    )


def _list_effect_jumps(effect: Effect) -> tuple[str, ...]:
    match effect:
        case BreakLoop():
            return ("break",)
        case ContinueLoop():
            return ("continue",)
        case ReturnValue() | ReturnAnswer():
            return ("return",)
        case RaiseError() | RaiseNamed():
            return ("raise",)
        case Goto(label):
            return (label,)
    return ()


def find_code_names(code: str) -> CodeNames:
    """Return the names in code; raises SyntaxError, ValueError or RecursionError if it cannot be parsed."""
    try:
        tree = parse_python(code)
    except SyntaxError:
        tree = parse_python(code.strip())
    nodes = list(ast.walk(tree))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    stored = (ast.Store, ast.Del)
    bound = {name.id: None for name in names if isinstance(name.ctx, stored)}
    bound |= dict.fromkeys(
        node.name
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    )
    read = [name.id for name in names if isinstance(name.ctx, ast.Load)]
    changed = (
        ast.unparse(node)
        for node in nodes
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, stored)
    )
    called = (ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call))
    return CodeNames(
        _unique(_list_imports(nodes)),
        _unique(_list_attributes(nodes)),
        _unique(type(found).__name__.lower() for found in find_exits(tree.body)),
        _unique(name for name in read if name not in bound),
        tuple(bound),
        _unique(changed),
        _unique(called),
    )


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _list_imports(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from (f"{module}.{alias.name}" for alias in node.names)


def _list_attributes(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        match node:
            case ast.Attribute(attr=name):
                yield name
            case ast.MatchClass(kwd_attrs=attributes):
                yield from attributes
            case ast.Name(id=name) if name in DYNAMIC_NAMES:
                yield name
            case ast.alias(name=name) if name in DYNAMIC_NAMES:
                yield name
