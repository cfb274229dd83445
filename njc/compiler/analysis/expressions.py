"""The types of expressions, from constants, annotations and builtins.

    len(ticket)                 int
    tickets[0]                  str, if `tickets` is a Sequence[str]
    find(ticket)                the annotated result of `find`

Not detected: conditions, comparisons, slices, and functions and classes in other modules.
A variable with such a value needs an annotation.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from njc.compiler.analysis.changeability import ChangeReader
from njc.compiler.analysis.class_members import find_result
from njc.compiler.analysis.types import (
    MAX_DEPTH,
    SCALARS,
    Typed,
    make_builtin_type,
)
from njc.compiler.frontend.name_resolution import FunctionDefinition, NameScope

_STRING_METHODS = frozenset(
    {
        *("strip", "lstrip", "rstrip", "lower", "upper", "title", "capitalize", "casefold"),
        *("replace", "join", "format", "removeprefix", "removesuffix", "zfill", "center"),
    }
)
_BUILTIN_RESULTS: Mapping[str, str] = {
    **{name: name for name in ("str", "int", "float", "bool", "bytes", "range")},
    **dict.fromkeys(("repr", "input", "chr", "format", "ascii", "hex"), "str"),
    **dict.fromkeys(("len", "ord", "hash"), "int"),
    **dict.fromkeys(("any", "all", "isinstance", "callable"), "bool"),
}

_METHODS_OF_CLASSES = frozenset({"__new__", "__init_subclass__", "__class_getitem__"})
"""Methods that receive the class instead of an instance, without a decorator."""


@dataclass(frozen=True)
class ExpressionReader(ChangeReader):
    """Reads the types of a module's expressions."""

    def type_of(self, name: str, scope: NameScope, depth: int = 0) -> Typed | None:
        """Return the type of a variable as `scope` sees it; None if it is unknown."""
        raise NotImplementedError

    def infer(self, value: ast.expr, scope: NameScope, depth: int = 0) -> Typed | None:
        """Return an expression's type from constants, annotations and builtins; None if unknown."""
        if depth > MAX_DEPTH:
            return None
        match value:
            case ast.Constant(value=constant) if constant is not ...:
                name = "None" if constant is None else type(constant).__name__
                return make_builtin_type(name, scope)
            case ast.JoinedStr():
                return make_builtin_type("str", scope)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant() as number):
                return self.infer(number, scope, depth)
            case ast.BinOp(left=left, right=right):
                typed, other = (self.infer(part, scope, depth + 1) for part in (left, right))
                both_scalar = all(part and self.name_of(part) in SCALARS for part in (typed, other))
                return typed if both_scalar else None
            case ast.Tuple(elts=parts):
                return self._make_tuple_type([self.infer(part, scope, depth + 1) for part in parts])
            case ast.Name(id=name):
                return self._type_of_self(name, scope) or self.type_of(name, scope, depth + 1)
            case ast.Attribute(value=owner, attr=attribute):
                return self._field_of(owner, attribute, scope, depth)
            case ast.Subscript(value=owner, slice=index) if not isinstance(index, ast.Slice):
                item = self.mapping_part(owner, scope, 1, depth)
                return item or self.element_of(owner, scope, depth)
            case ast.Await(value=ast.Call(func=function)):
                return self._find_annotated_result(function, scope, depth, is_awaited=True)
            case ast.Call():
                return self._infer_call(value, scope, depth)
        return None

    def _infer_call(self, call: ast.Call, scope: NameScope, depth: int) -> Typed | None:
        match call:
            case ast.Call(func=ast.Name(id=name)) if name in _BUILTIN_RESULTS and self.is_builtin(
                name, scope
            ):
                return make_builtin_type(_BUILTIN_RESULTS[name], scope)
            case ast.Call(func=ast.Name() as called) if self.class_of_type(Typed(called, scope)):
                return Typed(called, scope)
            case ast.Call(func=function):
                return self._find_annotated_result(function, scope, depth, is_awaited=False)
        return None

    def _make_tuple_type(self, parts: Sequence[Typed | None]) -> Typed | None:
        """Return the type of a tuple of these parts, if one scope defines all their names."""
        known = [part for part in parts if part is not None]
        if len(known) < len(parts) or len({part.scope for part in known}) > 1 or not known:
            return None
        if not self.is_builtin("tuple", known[0].scope):
            return None
        inner = ast.Tuple([part.annotation for part in known], ast.Load())
        return known[0].inside(ast.Subscript(ast.Name("tuple", ast.Load()), inner, ast.Load()))

    def _find_annotated_result(
        self, function: ast.expr, scope: NameScope, depth: int, is_awaited: bool
    ) -> Typed | None:
        match function:
            case ast.Name(id=name) if (home := self.find_home(name, scope)) is not None:
                match self.find_statements_binding(name, home):
                    case [ast.FunctionDef() | ast.AsyncFunctionDef() as definition]:
                        return find_result((definition, home), is_awaited)
            case ast.Attribute(value=owner, attr=method):
                return self._result_of_method(owner, method, scope, depth, is_awaited)
        return None

    def _result_of_method(
        self, owner: ast.expr, method: str, scope: NameScope, depth: int, is_awaited: bool
    ) -> Typed | None:
        typed = self.infer(owner, scope, depth + 1)
        if typed is None:
            return None
        if self.name_of(typed) == "str" and method in _STRING_METHODS:
            return typed
        found = self.class_of_type(self.expand(typed))
        return self.find_method_result(found, method, is_awaited) if found is not None else None

    def element_of(self, iterable: ast.expr, scope: NameScope, depth: int = 0) -> Typed | None:
        """Return the type of an iterable's elements."""
        if depth > MAX_DEPTH:
            return None
        match iterable:
            case ast.Call(func=ast.Name(id="range")) if self.is_builtin("range", scope):
                return make_builtin_type("int", scope)
            case ast.Call(
                func=ast.Name(id="sorted" | "list" | "tuple" | "set" | "reversed" as name),
                args=[inner, *_],
            ) if self.is_builtin(name, scope):
                return self.element_of(inner, scope, depth + 1)
            case ast.Call(func=ast.Attribute(value=owner, attr="split" | "splitlines")):
                typed = self.infer(owner, scope, depth + 1)
                return typed if typed and self.name_of(typed) == "str" else None
            case ast.List(elts=[_, *_]) | ast.Tuple(elts=[_, *_]) | ast.Set(elts=[_, *_]):
                parts = [self.infer(part, scope, depth + 1) for part in iterable.elts]
                kinds = {self.identify(part) if part else None for part in parts}
                return parts[0] if len(kinds) == 1 else None
        if self._is_enum(iterable, scope):
            return Typed(iterable, scope)
        typed = self.infer(iterable, scope, depth + 1)
        return self.element_type(typed) if typed else None

    def mapping_part(
        self, mapping: ast.expr, scope: NameScope, index: int, depth: int
    ) -> Typed | None:
        typed = self.infer(mapping, scope, depth + 1)
        return self.mapping_part_type(typed, index) if typed else None

    def _type_of_self(self, name: str, scope: NameScope) -> Typed | None:
        """Return the class of a method's first parameter, if it has no annotation."""
        around, node = scope.parent, scope.node
        if around is None or around.kind != "class" or not isinstance(node, FunctionDefinition):
            return None
        first = [*node.args.posonlyargs, *node.args.args][:1]
        if not first or first[0].arg != name or first[0].annotation or node.decorator_list:
            return None
        is_bound_again = self.find_statements_binding(name, scope)
        if node.name in _METHODS_OF_CLASSES or is_bound_again:
            return None
        return Typed(ast.Name(around.name, ast.Load()), around.parent or around)

    def _field_of(
        self, owner: ast.expr, attribute: str, scope: NameScope, depth: int
    ) -> Typed | None:
        if self._is_enum(owner, scope):
            return Typed(owner, scope)
        typed = self.infer(owner, scope, depth + 1)
        return self.find_field_type(typed, attribute) if typed else None

    def _is_enum(self, owner: ast.expr, scope: NameScope) -> bool:
        found = self.class_of_type(Typed(owner, scope))
        return found is not None and any(
            name.startswith("enum.") for name in self.list_base_names(found)
        )
