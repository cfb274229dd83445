"""A file's types: their names, parts and fields, without running anything.

    Rows: TypeAlias = "Sequence[Row]"       expand(Rows)                      Sequence[Row]
    @dataclass                              union_parts(Row | None)           [Row, None]
    class Row: ...                          field_type(Row, "name")           str

A type is an annotation together with the scope that defines its names. Not detected: fields of
classes in other modules; wrong annotations.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import or_

from njc.compiler.frontend.name_resolution import (
    BlockOutputs,
    Global,
    Local,
    NameScope,
    ResolvedName,
    collect_bindings,
    list_declared,
    resolve_name,
)
from njc.compiler.frontend.prompt_references import list_variables, parse_type
from njrt.data.private_names import mangle
from njrt.data.records import record

MAX_DEPTH = 12
"""The maximum number of steps from one type or expression to the next."""

SCALARS = frozenset(
    {
        *("str", "int", "float", "bool", "None", "bytes", "complex"),
        *("datetime.date", "datetime.datetime", "datetime.time", "datetime.timedelta"),
        *("decimal.Decimal", "fractions.Fraction", "uuid.UUID"),
        *("pathlib.Path", "pathlib.PurePath", "pathlib.PurePosixPath"),
    }
)
"""Types of immutable values; JSON represents each as a scalar, except `complex` and `Fraction`."""

_ITERABLES = frozenset(
    {
        *("list", "tuple", "set", "frozenset"),
        *(
            f"collections.abc.{name}"
            for name in ("Sequence", "Collection", "Set", "Iterable", "Iterator")
        ),
        *(f"collections.abc.{name}" for name in ("MutableSequence", "MutableSet", "Generator")),
    }
)
_MAPPINGS = frozenset({"dict", "collections.abc.Mapping", "collections.abc.MutableMapping"})
_TYPING_NAMES: Mapping[str, str] = {
    **{name: name.lower() for name in ("List", "Dict", "Tuple", "Set", "FrozenSet", "Type")},
    "AbstractSet": "collections.abc.Set",
    **{
        name: f"collections.abc.{name}"
        for name in (
            *("Sequence", "Mapping", "Collection", "Iterable", "Container", "Iterator"),
            *("MutableSequence", "MutableMapping", "MutableSet", "Generator"),
        )
    },
}
_QUALIFIERS = frozenset(
    {
        *(f"typing.{name}" for name in ("Final", "ClassVar", "Required", "NotRequired")),
        *("typing.ReadOnly", "dataclasses.InitVar"),
    }
)
_GENERIC_TYPES = frozenset({"list", "dict", "set", "frozenset", "tuple", "type"})
TYPE_PREFIXES = ("typing.", "collections.abc.")
_TYPING_MODULES = ("typing", "typing_extensions", "collections.abc")


@lru_cache(maxsize=64)
def _unparse(annotation: ast.expr) -> str:
    """Return a type's text; cached, because a finding names its type several times."""
    return ast.unparse(annotation)


@record
class Typed:
    """A type: an annotation and the scope that defines its names."""

    annotation: ast.expr
    scope: NameScope

    def __str__(self) -> str:
        return _unparse(self.annotation)

    def inside(self, annotation: ast.expr) -> Typed:
        """Return a part of the annotation, as a type."""
        return Typed(annotation, self.scope)


ClassDefinition = tuple[ast.ClassDef, NameScope]
"""A class statement and the scope around it."""


@dataclass(frozen=True)
class TypeDefinitions:
    """A module's types: the meanings of their names, and their parts."""

    outputs: BlockOutputs
    text: str
    """The module's text, which may show that a search is not needed."""

    # ── names ────────────────────────────────────────────────────────────────────────────────────

    def find_home(self, name: str, scope: NameScope) -> NameScope | None:
        """Return a name's scope as seen in `scope`; None for builtins and type parameters."""
        home = self._resolve(name, scope)
        is_bound = isinstance(home, Local) or (isinstance(home, Global) and home.known)
        return home.scope if is_bound else None

    def _resolve(self, name: str, scope: NameScope) -> ResolvedName:
        place = name, scope
        if place not in self._homes:
            self._homes[place] = resolve_name(name, scope, self.outputs)
        return self._homes[place]

    @cached_property
    def _homes(self) -> dict[tuple[str, NameScope], ResolvedName]:
        return {}

    def is_import(self, name: str, scope: NameScope) -> bool:
        """Return whether only import statements bind the name that `scope` sees."""
        home = self.find_home(name, scope)
        bindings = self.find_statements_binding(name, home) if home is not None else ()
        return bool(bindings) and all(
            isinstance(each, ast.Import | ast.ImportFrom) for each in bindings
        )

    def find_statements_binding(self, name: str, scope: NameScope) -> Sequence[ast.stmt]:
        """Return the statements in a scope that bind a name, as it is written."""
        return scope.bindings.statements.get(name, ())

    @cached_property
    def has_names_for_checkers(self) -> bool:
        """Whether the module may bind names under `if TYPE_CHECKING:`."""
        return "TYPE_CHECKING" in self.text

    def find_annotation(self, name: str, scope: NameScope) -> Typed | None:
        """Return a variable's annotation as written, with the scope of its names, or None."""
        if (home := self.find_home(name, scope)) is None:
            return None
        key = mangle(name, scope.mangling_class)
        if annotation := home.bindings.annotations.get(key):
            return Typed(annotation, home)
        if annotation := home.bindings.parameters.get(key):
            return Typed(annotation, home.signature_scope)
        return None

    def infer(self, value: ast.expr, scope: NameScope, depth: int = 0) -> Typed | None:
        """Return an expression's type from constants, annotations and builtins; None if unknown."""
        raise NotImplementedError

    def list_rebound(self, scope: NameScope) -> frozenset[str]:
        """Return names that functions in the module declare global or nonlocal and may rebind."""
        if not self._may_rebind:
            return frozenset()
        return list_declared(scope.module.node)[1]

    @cached_property
    def _may_rebind(self) -> bool:
        return re.search(r"\b(?:global|nonlocal)\b", self.text) is not None

    def is_builtin(self, name: str, scope: NameScope) -> bool:
        """Return whether a name is a builtin, or is not bound in the module."""
        home = self._resolve(name, scope)
        return isinstance(home, Global) and not home.known

    def identify(self, typed: Typed) -> tuple[str, tuple[NameScope | None, ...]]:
        """Return a key that is equal for equal types: the text, and the scopes of its names."""
        names = list_variables(typed.annotation)
        return str(typed), tuple(self.find_home(name, typed.scope) for name in names)

    # ── meanings ─────────────────────────────────────────────────────────────────────────────────

    def name_of(self, typed: Typed) -> str:
        """Return the dotted name of a type or of its origin: `str`, `collections.abc.Mapping`."""
        annotation = typed.annotation
        if isinstance(annotation, ast.Subscript):
            annotation = annotation.value
        match annotation:
            case ast.Constant(value=None):
                return "None"
            case ast.Name(id=name):
                return self._imported_name(name, typed.scope) or ""
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                home = self._imported_name(module, typed.scope)
                return _canonical(f"{home}.{name}") if home else ""
            case ast.Attribute(
                value=ast.Attribute(value=ast.Name(id="collections"), attr="abc"), attr=name
            ):
                return f"collections.abc.{name}"
        return ""

    def _imported_name(self, name: str, scope: NameScope) -> str | None:
        """Return the dotted name that a name imports; a builtin's own name."""
        if (home := self.find_home(name, scope)) is None:
            return name if hasattr(builtins, name) and self.is_builtin(name, scope) else None
        match self.find_statements_binding(name, home):
            case [ast.ImportFrom(module=str(module), names=aliases, level=0)]:
                original = next(each.name for each in aliases if (each.asname or each.name) == name)
                return _canonical(f"{module}.{original}")
            case [ast.Import(names=aliases)]:
                original = next(
                    alias.name
                    for alias in aliases
                    if (alias.asname or alias.name.partition(".")[0]) == name
                )
                return original if original.count(".") == 0 or aliases[0].asname else name
        return None

    def expand(self, typed: Typed, depth: int = 0) -> Typed:
        """Return the type behind quotes, aliases, `NewType`, `Annotated`, `Final` and the like."""
        if depth > MAX_DEPTH:
            return typed
        match typed.annotation:
            case ast.Constant(value=str(text)):
                parsed = parse_type(text)
                return self.expand(typed.inside(parsed), depth + 1) if parsed is not None else typed
            case ast.Subscript(slice=inner) if self.name_of(typed) in _QUALIFIERS:
                return self.expand(typed.inside(inner), depth + 1)
            case ast.Subscript(slice=ast.Tuple(elts=[inner, *_])) if (
                self.name_of(typed) == "typing.Annotated"
            ):
                return self.expand(typed.inside(inner), depth + 1)
            case ast.Name(id=name):
                alias = self.alias_of(name, typed.scope)
                return self.expand(alias, depth + 1) if alias is not None else typed
        return typed

    def alias_of(self, name: str, scope: NameScope, depth: int = 0) -> Typed | None:
        """Return the type of `Name = ...`, `type Name = ...` or `Name = NewType("Name", ...)`."""
        if (home := self.find_home(name, scope)) is None:
            return None
        by_blocks = self.outputs.get(home, ())
        if name in self.list_rebound(home) or mangle(name, home.mangling_class) in by_blocks:
            return None
        match self.find_statements_binding(name, home):
            case [ast.Assign(targets=[ast.Name()], value=value)] if self._is_type(
                value, home, depth
            ):
                return Typed(value, home)
            case [
                ast.Assign(targets=[ast.Name()], value=ast.Call(func=function, args=[_, value]))
            ] if self.name_of(Typed(function, home)) == "typing.NewType":
                return Typed(value, home)
            case [ast.AnnAssign(value=ast.expr() as value) as statement] if (
                self.name_of(Typed(statement.annotation, home)) == "typing.TypeAlias"
            ):
                return Typed(value, home)
            case [statement] if type(statement).__name__ == "TypeAlias":
                return Typed(statement.value, home)  # type: ignore[attr-defined]
        return None

    def _is_type(self, value: ast.expr, scope: NameScope, depth: int = 0) -> bool:
        """Return whether an expression is certainly a type, so that its name is an alias."""
        typed = Typed(value, scope)
        match value:
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                parts = [self._is_type(part, scope, depth + 1) for part in (left, right)]
                is_none = [getattr(part, "value", ...) is None for part in (left, right)]
                return depth < MAX_DEPTH and all(map(or_, parts, is_none)) and any(parts)
            case ast.Subscript(value=ast.Name() | ast.Attribute() as origin):
                name = self.name_of(typed.inside(origin))
                return name in _GENERIC_TYPES or name.startswith(("typing.", "collections.abc."))
            case ast.Name(id=name):
                named = self.name_of(typed)
                is_class = isinstance(getattr(builtins, named, None), type)
                is_known = is_class or named in SCALARS or named.startswith(TYPE_PREFIXES)
                if is_known or self.class_of_type(typed) is not None:
                    return True
                return depth < MAX_DEPTH and self.alias_of(name, scope, depth + 1) is not None
            case ast.Attribute():
                name = self.name_of(typed)
                return name in SCALARS or name.startswith(TYPE_PREFIXES)
        return False

    def class_of_type(self, typed: Typed) -> ClassDefinition | None:
        """Return the class that a type names and the scope around it, if it is one in this file."""
        match typed.annotation:
            case ast.Name(id=name) if (home := self.find_home(name, typed.scope)) is not None:
                return self._find_class(name, home)
            case ast.Attribute(value=owner, attr=name):
                outer = self.class_of_type(self.expand(typed.inside(owner)))
                return self._find_inner_class(name, outer) if outer else None
        return None

    def _find_inner_class(
        self, name: str, outer: ClassDefinition, depth: int = 0
    ) -> ClassDefinition | None:
        """Return the class of this name in a class's body or in its nearest base in this file."""
        node, around = outer
        if self.find_statements_binding(name, scope := self.open_class(node, around)):
            return self._find_class(name, scope)
        found = (self.class_of_type(Typed(base, around)) for base in node.bases)
        bases = filter(None, found) if depth < MAX_DEPTH else ()
        inner = (self._find_inner_class(name, base, depth + 1) for base in bases)
        return next(filter(None, inner), None)

    def _find_class(self, name: str, scope: NameScope) -> ClassDefinition | None:
        match self.find_statements_binding(name, scope):
            case [ast.ClassDef() as found]:
                return found, scope
        return None

    def open_class(self, node: ast.ClassDef, around: NameScope) -> NameScope:
        """Return the scope of a class's body; each class has one, also if no block is in it."""
        if node not in self._scopes_by_class:
            known = (scope for block in self.outputs for scope in block.walk_outwards())
            bindings = collect_bindings(node, node.name, ":=" in self.text)
            made = NameScope("class", node.name, node, bindings, around)
            found = next((scope for scope in known if scope.node is node), made)
            self._scopes_by_class[node] = found
        return self._scopes_by_class[node]

    @cached_property
    def _scopes_by_class(self) -> dict[ast.ClassDef, NameScope]:
        return {}

    def union_parts(self, typed: Typed, depth: int = 0) -> list[Typed]:
        """Return a union's parts; the type alone if it is not a union, or too deep."""
        parts: list[ast.expr]
        match typed.annotation:
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                parts = [left, right]
            case ast.Subscript(slice=inner) if self.name_of(typed) == "typing.Optional":
                parts = [inner, ast.Constant(None)]
            case ast.Subscript(slice=inner) if self.name_of(typed) == "typing.Union":
                parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            case _:
                return [typed]
        if depth > MAX_DEPTH:
            return [typed]
        return [
            found
            for part in {ast.unparse(part): part for part in parts}.values()
            for found in self.union_parts(self.expand(typed.inside(part)), depth + 1)
        ]

    def element_type(self, typed: Typed) -> Typed | None:
        typed = self.expand(typed)
        if self.name_of(typed) == "str":
            return typed
        match typed.annotation:
            case ast.Subscript(slice=ast.Tuple(elts=[first, ast.Constant(value=ellipsis)])) if (
                ellipsis is ... and self.name_of(typed) == "tuple"
            ):
                return typed.inside(first)
            case ast.Subscript(slice=ast.Tuple(elts=[key, _])) if self.name_of(typed) in _MAPPINGS:
                return typed.inside(key)
            case ast.Subscript(slice=inner) if self.name_of(typed) in _ITERABLES and not isinstance(
                inner, ast.Tuple
            ):
                return typed.inside(inner)
        return None

    def mapping_part_type(self, typed: Typed, index: int) -> Typed | None:
        """Return the type of a mapping's keys (0) or values (1)."""
        typed = self.expand(typed)
        match typed.annotation:
            case ast.Subscript(slice=ast.Tuple(elts=[_, _] as parts)) if (
                self.name_of(typed) in _MAPPINGS
            ):
                return typed.inside(parts[index])
        return None


@lru_cache(maxsize=64)
def list_for_checkers(scope: NameScope) -> frozenset[int]:
    """Return the ids of the statements in a scope that only type checkers read."""
    return frozenset(
        id(inner)
        for statement in scope.statements
        if isinstance(statement, ast.If)
        and ast.unparse(statement.test).rpartition(".")[2] == "TYPE_CHECKING"
        for child in statement.body
        for inner in ast.walk(child)
    )


def make_builtin_type(name: str, scope: NameScope) -> Typed:
    """Return the type of a builtin name in the module scope, where only the module can hide it."""
    constant = ast.Constant(None) if name == "None" else ast.Name(name, ast.Load())
    return Typed(constant, scope.module)


def _canonical(name: str) -> str:
    module, _, leaf = name.rpartition(".")
    if module in _TYPING_MODULES:
        return _TYPING_NAMES.get(leaf, f"typing.{leaf}")
    return name
