"""The types of a file's variables, from its annotations, without running anything.

    def route(tickets: Sequence[str]):
        for ticket in tickets:              type_of("ticket")                 str
            size = len(ticket)              type_of("size")                   int

Not detected: types that depend on control flow. A variable that is bound in an unknown way has no
type.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from njc.compiler.analysis.annotations import find_hidden_names, unquote
from njc.compiler.analysis.expressions import ExpressionReader
from njc.compiler.analysis.stated_outputs import find_stated_type
from njc.compiler.analysis.types import MAX_DEPTH, ClassDefinition, Typed, make_builtin_type
from njc.compiler.frontend.blocks import NaturalBlock
from njc.compiler.frontend.name_resolution import Definition, NameScope
from njc.compiler.frontend.prompt_references import parse_type
from njrt.data.private_names import mangle

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
        found = [*self._list_types(name, key, home, depth + 1)]
        known = [typed for typed in found if typed is not None]
        if not known or len(known) != len(found) or depth > MAX_DEPTH:
            return None
        if len(known) == 1 or len(set(map(self.identify, known))) == 1:
            return known[0]
        return known[0] if all(self.is_read_only(typed) for typed in known) else None

    @cached_property
    def _types_by_place(self) -> dict[tuple[str, str, NameScope, int], Typed | None]:
        return {}

    def read_type(self, path: str, block: NaturalBlock) -> tuple[Typed | None, Typed | None]:
        """Return the type at the end of a path that a block reads, and of the attribute's owner."""
        place = (path, block.start)
        if place not in self._types_by_path:
            self._types_by_path[place] = self._find_read_type(path, block)
        return self._types_by_path[place]

    @cached_property
    def _types_by_path(self) -> dict[tuple[str, int], tuple[Typed | None, Typed | None]]:
        return {}

    def _find_read_type(self, path: str, block: NaturalBlock) -> tuple[Typed | None, Typed | None]:
        root, *attributes = path.split(".")
        name = ast.Name(root, ast.Load())
        if attributes:
            itself = self.expand(Typed(name, block.scope))
            if (found := self.class_of_type(itself)) is not None:
                return self.find_member_type(found, attributes), None
        typed = self.infer(name, block.scope)
        if typed is None and root in block.binds:
            typed = self.declared_type(root, block.scope)
        owner = typed
        for attribute in attributes:
            owner = typed
            typed = self.find_field_type(typed, attribute) if typed is not None else None
        return typed, owner

    def find_member_type(self, found: ClassDefinition, attributes: Sequence[str]) -> Typed | None:
        """Return the type of a member of an enum; None for other attributes of a class."""
        is_enum = any(base.startswith("enum.") for base in self.list_base_names(found))
        is_member = is_enum and len(attributes) == 1
        return Typed(ast.Name(found[0].name, ast.Load()), found[1]) if is_member else None

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

    @cached_property
    def _stated_types(self) -> dict[tuple[NameScope, str], Typed | None]:
        return {}

    def _find_stated_type(self, name: str, scope: NameScope) -> Typed | None:
        home = self.find_home(name, scope)
        is_declared = self.find_type_in_prompts(name, scope) or self.find_annotation(name, scope)
        if home is not scope or is_declared or name in self.list_rebound(scope):
            return None
        blocks = [each for each in self.blocks_by_scope.get(scope, ()) if name in each.binds]
        stated = [find_stated_type(block, name) for block in blocks]
        found = stated[0] if stated else None
        if found is None or any(str(each) != str(found) for each in stated[1:]):
            return None
        typed = self._read_annotation(found, scope)
        is_open = typed is None or self.name_of(self.expand(typed)) in _OPEN_TYPES
        return None if is_open else typed

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

    def _list_types(
        self, name: str, key: str, scope: NameScope, depth: int
    ) -> Iterator[Typed | None]:
        """Yield the types that everything in a scope that binds a name gives to it."""
        bindings = scope.bindings
        if key in bindings.parameters:
            annotation = bindings.parameters[key]
            yield Typed(unquote(annotation), scope.signature_scope) if annotation else None
        if key in bindings.annotations:
            yield Typed(unquote(bindings.annotations[key]), scope)
        for statement in bindings.statements.get(name, ()):
            if key not in bindings.annotations or isinstance(statement, _DEFINITIONS):
                yield from self._list_types_by(statement, name, scope, depth)
        if key not in bindings.parameters.keys() | bindings.annotations.keys() and any(
            name in block.binds for block in self.blocks_by_scope.get(scope, ())
        ):
            yield self.output_type(name, scope)

    def _list_types_by(
        self, statement: ast.stmt, name: str, scope: NameScope, depth: int
    ) -> Iterator[Typed | None]:
        """Yield the types that a statement that binds a name gives to it; None if unknown."""
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=bound)], value=value)
                | ast.AugAssign(target=ast.Name(id=bound), value=value)
            ) if bound == name:
                yield self.infer(value, scope, depth)
            case ast.For(target=target, iter=iterable) | ast.AsyncFor(target=target, iter=iterable):
                yield self._find_type_in_loop(name, target, iterable, scope, depth)
            case ast.Try(handlers=handlers):
                for handler in handlers:
                    if handler.name == name:
                        yield _find_handled_type(handler, scope)
            case _:
                yield None

    def _find_type_in_loop(
        self, name: str, target: ast.expr, iterable: ast.expr, scope: NameScope, depth: int
    ) -> Typed | None:
        match target, iterable:
            case ast.Name(id=bound), _ if bound == name:
                return self.element_of(iterable, scope, depth)
            case (
                ast.Tuple(elts=[ast.Name(id=index), inner]),
                ast.Call(func=ast.Name(id="enumerate"), args=[values, *_]),
            ) if self.is_builtin("enumerate", scope):
                if index == name:
                    return make_builtin_type("int", scope)
                return self._find_type_in_loop(name, inner, values, scope, depth)
            case ast.Tuple(elts=targets), ast.Call(func=ast.Name(id="zip"), args=values) if len(
                targets
            ) == len(values) and self.is_builtin("zip", scope):
                pairs = zip(targets, values, strict=True)
                found = (self._find_type_in_loop(name, *pair, scope, depth) for pair in pairs)
                return next(filter(None, found), None)
            case (
                ast.Tuple(elts=[ast.Name(id=key), ast.Name(id=item)]),
                ast.Call(func=ast.Attribute(value=mapping, attr="items"), args=[]),
            ) if name in (key, item):
                return self.mapping_part(mapping, scope, int(name == item), depth)
        return None


def _find_handled_type(handler: ast.ExceptHandler, scope: NameScope) -> Typed | None:
    """Return the type of an `except` clause's exception."""
    match handler.type:
        case ast.Name() | ast.Attribute() as one:
            return Typed(one, scope)
    return None
