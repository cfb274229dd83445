"""The types of a file's variables, from its annotations, without running anything.

    def route(tickets: Sequence[str]):
        for ticket in tickets:              type_of("ticket")                 str
            size = len(ticket)              type_of("size")                   int

Not detected: types that depend on control flow. A variable that is bound in an unknown way has no
type.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from njc.compiler.analysis.annotations import find_hidden_names, unquote
from njc.compiler.analysis.expressions import ExpressionReader
from njc.compiler.analysis.stated_outputs import find_stated_type
from njc.compiler.analysis.types import MAX_DEPTH, Typed, make_builtin_type
from njc.compiler.frontend.blocks import NaturalBlock
from njc.compiler.frontend.name_resolution import Definition, NameScope, list_bound_names
from njc.compiler.frontend.prompt_references import list_variables, parse_type
from njrt.data.private_names import mangle

Binding = Callable[[int], "Typed | None"]
"""Reads the type that a statement gives a name; called with the depth of the search."""

_DEFINITIONS = Definition | ast.Import | ast.ImportFrom
"""The statements that bind a name without annotating it."""

_OPEN_TYPES = ("typing.Any", "object")
"""Types that say nothing about a value."""


@dataclass(frozen=True)
class TypeReader(ExpressionReader):
    """Reads the types of a module's variables and expressions."""

    blocks: Sequence[NaturalBlock]
    """The module's natural blocks, which also bind variables."""

    def type_of(self, name: str, scope: NameScope, depth: int = 0) -> Typed | None:
        """Return the type of a variable as `scope` sees it; None if it is unknown."""
        if (home := self.find_home(name, scope)) is None:
            return None
        place = (name, mangle(name, scope.mangling_class), home, depth)
        if place not in self._types_by_place:
            self._types_by_place[place] = self._find_type(*place)
        return self._types_by_place[place]

    def _find_type(self, name: str, key: str, home: NameScope, depth: int) -> Typed | None:
        if name in self.list_rebound(home) and key not in home.bindings.annotations:
            return None
        found = [binding(depth + 1) for binding in self._bindings(home).get(key, ())]
        known = [typed for typed in found if typed is not None]
        if not known or len(known) != len(found) or depth > MAX_DEPTH:
            return None
        if len(known) == 1 or len(set(map(self.identify, known))) == 1:
            return known[0]
        return known[0] if all(self.is_read_only(typed) for typed in known) else None

    @cached_property
    def _types_by_place(self) -> dict[tuple[str, str, NameScope, int], Typed | None]:
        return {}

    def output_type(self, name: str, scope: NameScope) -> Typed | None:
        """Return an output's type: declared, or stated by the code after its blocks."""
        return self.declared_type(name, scope) or self.stated_type(name, scope)

    def declared_type(self, name: str, scope: NameScope) -> Typed | None:
        """Return an output's declared type, from a prompt of the scope or its annotation."""
        if text := self.find_type_in_prompts(name, scope):
            parsed = parse_type(text)
            return Typed(parsed, scope) if parsed is not None else None
        return self._read_annotation(self.find_annotation(name, scope), scope)

    def stated_type(self, name: str, scope: NameScope) -> Typed | None:
        """Return an undeclared output's type, if the code after each block states the same."""
        place = (scope, name)
        if place not in self._stated_types:
            self._stated_types[place] = self._find_stated_type(name, scope)
        return self._stated_types[place]

    def _find_stated_type(self, name: str, scope: NameScope) -> Typed | None:
        home = self.find_home(name, scope)
        is_declared = self.find_type_in_prompts(name, scope) or self.find_annotation(name, scope)
        if home is not scope or is_declared or name in self.list_rebound(scope):
            return None
        blocks = [each for each in self.blocks_by_scope.get(scope, ()) if name in each.binds]
        stated = [find_stated_type(block, name) for block in blocks]
        found = stated[0] if stated else None
        if found is None or len({each and str(each) for each in stated}) > 1:
            return None
        typed = self._read_annotation(found, scope)
        is_open = typed is None or self.name_of(self.expand(typed)) in _OPEN_TYPES
        return None if is_open else typed

    @cached_property
    def _stated_types(self) -> dict[tuple[NameScope, str], Typed | None]:
        return {}

    def _read_annotation(self, found: Typed | None, scope: NameScope) -> Typed | None:
        """Return an annotation without quotes, if its names mean the same in a scope."""
        if found is None or find_hidden_names(found, scope, self):
            return None
        return found.inside(unquote(found.annotation))

    def find_type_in_prompts(self, name: str, scope: NameScope) -> str | None:
        """Return the type that a prompt in the scope gives to an output; the first one counts."""
        return self._types_in_prompts.get((scope, name))

    def find_definition(self, name: str, scope: NameScope) -> str | None:
        """Return "function", "class" or "import" if one or a builtin defines the name, or None."""
        if (home := self.find_home(name, scope)) is None:
            return "function" if self.is_builtin(name, scope) else None
        for statement in self.find_statements_binding(name, home):
            match statement:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    return "function"
                case ast.ClassDef():
                    return "class"
                case ast.Import() | ast.ImportFrom():
                    return "import"
        return None

    def _bindings(self, scope: NameScope) -> Mapping[str, list[Binding]]:
        """Return the bindings of each stored name in a scope."""
        if scope not in self._bindings_by_scope:
            by_name: dict[str, list[Binding]] = {}
            for name, binding in self._find_bindings(scope):
                by_name.setdefault(name, []).append(binding)
            self._bindings_by_scope[scope] = by_name
        return self._bindings_by_scope[scope]

    @cached_property
    def _bindings_by_scope(self) -> dict[NameScope, dict[str, list[Binding]]]:
        return {}

    @cached_property
    def blocks_by_scope(self) -> Mapping[NameScope | None, list[NaturalBlock]]:
        by_scope: dict[NameScope | None, list[NaturalBlock]] = {}
        for block in self.blocks:
            by_scope.setdefault(block.scope, []).append(block)
        return by_scope

    @cached_property
    def _types_in_prompts(self) -> dict[tuple[NameScope, str], str]:
        """The types that prompts give to outputs, by scope and path; the first one counts."""
        types: dict[tuple[NameScope, str], str] = {}
        for block in self.blocks:
            for reference in block.references:
                if reference.writes and reference.type:
                    types.setdefault((block.scope, reference.path), reference.type)
        return types

    def _find_bindings(self, scope: NameScope) -> Iterator[tuple[str, Binding]]:
        """Yield each name that a scope binds, with a function that reads the binding's type."""
        around = scope.signature_scope
        for name, annotation in scope.bindings.parameters.items():
            yield name, _always(Typed(unquote(annotation), around) if annotation else None)
        annotated = scope.bindings.annotations
        for name, annotation in annotated.items():
            yield name, _always(Typed(unquote(annotation), scope))
        for statement in scope.statements:
            for name, binding in self._bindings_of(statement, scope):
                key = mangle(name, scope.mangling_class)
                if key not in annotated or isinstance(statement, _DEFINITIONS):
                    yield key, binding
        for block in self.blocks_by_scope.get(scope, ()):
            for name in block.binds:
                key = mangle(name, scope.mangling_class)
                if key not in annotated and key not in scope.bindings.parameters:
                    yield key, _always(self.output_type(name, scope))

    def _bindings_of(self, statement: ast.stmt, scope: NameScope) -> Iterator[tuple[str, Binding]]:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AugAssign(target=ast.Name(id=name), value=value)
            ):
                yield name, lambda depth: self.infer(value, scope, depth)
            case ast.For(target=target, iter=iterable) | ast.AsyncFor(target=target, iter=iterable):
                yield from self._bindings_of_loop(target, iterable, scope)
            case ast.AnnAssign():
                return
            case ast.Try(handlers=handlers):
                for handler in handlers:
                    if handler.name is not None:
                        yield handler.name, _always(_find_handled_type(handler, scope))
            case _:
                for name in list_bound_names(statement, self.has_walrus):
                    yield name, _unknown

    def _bindings_of_loop(
        self, target: ast.expr, iterable: ast.expr, scope: NameScope
    ) -> Iterator[tuple[str, Binding]]:
        match target, iterable:
            case ast.Name(id=name), _:
                yield name, lambda depth: self.element_of(iterable, scope, depth)
            case (
                ast.Tuple(elts=[ast.Name(id=index), inner]),
                ast.Call(func=ast.Name(id="enumerate"), args=[values, *_]),
            ) if self.is_builtin("enumerate", scope):
                yield index, _always(make_builtin_type("int", scope))
                yield from self._bindings_of_loop(inner, values, scope)
            case ast.Tuple(elts=targets), ast.Call(func=ast.Name(id="zip"), args=values) if len(
                targets
            ) == len(values) and self.is_builtin("zip", scope):
                for inner, value in zip(targets, values, strict=True):
                    yield from self._bindings_of_loop(inner, value, scope)
            case (
                ast.Tuple(elts=[ast.Name(id=key), ast.Name(id=item)]),
                ast.Call(func=ast.Attribute(value=mapping, attr="items"), args=[]),
            ):
                yield key, lambda depth: self.mapping_part(mapping, scope, 0, depth)
                yield item, lambda depth: self.mapping_part(mapping, scope, 1, depth)
            case _:
                yield from ((name, _unknown) for name in list_variables(target))


def _unknown(depth: int) -> Typed | None:
    """Return None: a binding of unknown type."""
    return None


def _always(typed: Typed | None) -> Binding:
    return lambda depth: typed


def _find_handled_type(handler: ast.ExceptHandler, scope: NameScope) -> Typed | None:
    """Return the type of an `except` clause's exception."""
    match handler.type:
        case ast.Name() | ast.Attribute() as one:
            return Typed(one, scope)
    return None
