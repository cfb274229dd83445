"""What the annotations of a file tell about its variables and types, without running anything.

    def route(tickets: Sequence[str]):
        for ticket in tickets:              type_of("ticket")                     str
            ...                             is_read_only(Sequence[str])           True
                                            has_json_form(list[Callable])         False

A type is an annotation together with the scope in which its names mean something. What it does not see: classes
of other modules, whose fields it cannot know; types that depend on control flow; annotations that lie. A
variable whose bindings it does not all understand has no type.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from njc.frontend.blocks import NaturalBlock
from njc.frontend.names import (
    BlockOutputs,
    Global,
    Local,
    NameScope,
    list_bound_names,
    list_suites,
    resolve_name,
    walk_outwards,
)
from njc.frontend.references import parse_type
from njrt.private_names import mangle

_MAX_DEPTH = 12

Binding = Callable[[int], "Typed | None"]
"""Reads the type that one statement gives a name; called with the depth of the search."""

SCALARS = frozenset(
    {
        *("str", "int", "float", "bool", "None", "bytes", "complex"),
        *("datetime.date", "datetime.datetime", "datetime.time", "datetime.timedelta"),
        *("decimal.Decimal", "fractions.Fraction", "uuid.UUID"),
        *("pathlib.Path", "pathlib.PurePath", "pathlib.PurePosixPath"),
    }
)
"""Types whose values cannot be changed and, but for `complex` and `Fraction`, are written as one JSON scalar."""

_WITHOUT_JSON = frozenset({"complex", "fractions.Fraction"})
_READ_ONLY_CONTAINERS = frozenset(
    {
        *("tuple", "frozenset", "type", "range"),
        *(
            f"collections.abc.{name}"
            for name in ("Sequence", "Mapping", "Collection", "Set", "Iterable", "Container")
        ),
    }
)
_JSON_CONTAINERS = frozenset(
    {
        *("list", "dict", "tuple", "set", "frozenset"),
        *(f"collections.abc.{name}" for name in ("Sequence", "Mapping", "Collection", "Set")),
    }
)
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
_TYPING_MODULES = ("typing", "typing_extensions", "collections.abc")
_ENUM_BASES = frozenset(
    f"enum.{name}" for name in ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag")
)
_DATA_BASES = frozenset(
    {"typing.NamedTuple", "typing.TypedDict", "pydantic.BaseModel", "pydantic.main.BaseModel"}
)
_STRING_METHODS = frozenset(
    {
        *("strip", "lstrip", "rstrip", "lower", "upper", "title", "capitalize", "casefold"),
        *("replace", "join", "format", "removeprefix", "removesuffix", "zfill", "center"),
    }
)
_BUILTIN_RESULTS: Mapping[str, str] = {
    **{name: name for name in ("str", "int", "float", "bool", "bytes", "range")},
    **dict.fromkeys(("repr", "input", "chr", "format", "ascii", "hex"), "str"),
    **dict.fromkeys(("len", "ord", "hash", "round"), "int"),
    **dict.fromkeys(("any", "all", "isinstance", "callable"), "bool"),
}


@dataclass(frozen=True, slots=True)
class Typed:
    """A type: an annotation, and the scope in which its names mean something."""

    annotation: ast.expr
    scope: NameScope

    def __str__(self) -> str:
        return ast.unparse(self.annotation)

    def inside(self, annotation: ast.expr) -> Typed:
        """A part of the annotation, as a type of its own."""
        return Typed(annotation, self.scope)


@dataclass(frozen=True)
class TypeReader:
    """Reads the types of one module; `blocks` are its natural blocks, which bind variables too."""

    blocks: Sequence[NaturalBlock]
    outputs: BlockOutputs
    text: str
    """The text of the module, which tells what need not be looked for."""

    # ── the types of variables ───────────────────────────────────────────────────────────────────

    def type_of(self, name: str, scope: NameScope, depth: int = 0) -> Typed | None:
        """The type of a variable as `scope` sees it; None where it is not known."""
        if (home := self._find_home(name, scope)) is None:
            return None
        key = mangle(name, scope.mangling_class)
        if key in self._rebound_elsewhere and key not in home.bindings.annotations:
            return None
        found = [binding(depth + 1) for binding in self._bindings(home).get(key, ())]
        known = [typed for typed in found if typed is not None]
        if not known or len(known) != len(found) or depth > _MAX_DEPTH:
            return None
        distinct = {str(typed): typed for typed in known}
        if len(distinct) == 1:
            return known[0]
        return known[0] if all(self.is_read_only(typed) for typed in known) else None

    def class_of(self, name: str, scope: NameScope) -> ast.ClassDef | None:
        """The class statement that a name means, if it means one class of this file."""
        if (home := self._find_home(name, scope)) is None:
            return None
        statements = self._statements_binding(name, home)
        match statements:
            case [ast.ClassDef() as found]:
                return found
        return None

    def output_type(self, name: str, scope: NameScope) -> Typed | None:
        """The declared type of an output: in its prompt, in another one, or by an annotation in scope."""
        key = mangle(name, scope.mangling_class)
        if text := self._types_in_prompts.get((scope, name)):
            parsed = parse_type(text)
            return Typed(parsed, scope) if parsed is not None else None
        for place in walk_outwards(scope):
            annotation = place.bindings.annotations.get(key) or place.bindings.parameters.get(key)
            if annotation is not None:
                return Typed(_unquote(annotation), place)
            if place.is_function and key in place.bindings.bound:
                return None
        return None

    def _find_home(self, name: str, scope: NameScope) -> NameScope | None:
        """The scope that binds a name as `scope` sees it; None for builtins and type parameters."""
        match resolve_name(name, scope, self.outputs):
            case Local(home) | Global(home, True):
                return home
        return None

    def _bindings(self, scope: NameScope) -> Mapping[str, list[Binding]]:
        """The bindings of each name of a scope, as it is stored."""
        if scope not in self._bindings_by_scope:
            by_name: dict[str, list[Binding]] = {}
            for name, binding in self._find_bindings(scope):
                by_name.setdefault(name, []).append(binding)
            self._bindings_by_scope[scope] = by_name
        return self._bindings_by_scope[scope]

    def _statements_binding(self, name: str, scope: NameScope) -> list[ast.stmt]:
        """The statements of a scope that bind a name, as it is written."""
        if scope not in self._statements_by_scope:
            by_name: dict[str, list[ast.stmt]] = {}
            for statement in _walk_statements(scope):
                for bound in list_bound_names(statement, ":=" in self.text):
                    by_name.setdefault(bound, []).append(statement)
            self._statements_by_scope[scope] = by_name
        return self._statements_by_scope[scope].get(name, [])

    @cached_property
    def _rebound_elsewhere(self) -> frozenset[str]:
        """The names that some function declares global or nonlocal, and so may bind anew."""
        if not re.search(r"\b(?:global|nonlocal)\b", self.text):
            return frozenset()
        trees = {
            id(place.node): place.node
            for block in self.blocks
            for place in walk_outwards(block.scope)
            if place.parent is None
        }
        return frozenset(
            name
            for tree in trees.values()
            for node in ast.walk(tree)
            if isinstance(node, ast.Global | ast.Nonlocal)
            for name in node.names
        )

    @cached_property
    def _bindings_by_scope(self) -> dict[NameScope, dict[str, list[Binding]]]:
        return {}

    @cached_property
    def _statements_by_scope(self) -> dict[NameScope, dict[str, list[ast.stmt]]]:
        return {}

    @cached_property
    def _blocks_by_scope(self) -> dict[NameScope, list[NaturalBlock]]:
        by_scope: dict[NameScope, list[NaturalBlock]] = {}
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
        """Each binding of a name in a scope, with a function that reads its type."""
        for name, annotation in scope.bindings.parameters.items():
            yield name, _always(Typed(_unquote(annotation), scope) if annotation else None)
        annotated = scope.bindings.annotations
        for name, annotation in annotated.items():
            yield name, _always(Typed(_unquote(annotation), scope))
        for statement in _walk_statements(scope):
            for name, binding in self._bindings_of(statement, scope):
                key = mangle(name, scope.mangling_class)
                if key not in annotated or binding is _unknown:
                    yield key, binding
        for block in self._blocks_by_scope.get(scope, ()):
            for name in block.binds:
                key = mangle(name, scope.mangling_class)
                if key not in annotated and key not in scope.bindings.parameters:
                    yield key, _always(self.output_type(name, scope))

    def _bindings_of(self, statement: ast.stmt, scope: NameScope) -> Iterator[tuple[str, Binding]]:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, lambda depth: self.infer(value, scope, depth)
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                yield name, lambda depth: self.infer(value, scope, depth)
            case ast.For(target=target, iter=iterable) | ast.AsyncFor(target=target, iter=iterable):
                yield from self._bindings_of_loop(target, iterable, scope)
            case ast.AnnAssign():
                return
            case _:
                for name in list_bound_names(statement, ":=" in self.text):
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
            ):
                yield index, _always(_named("int", scope))
                yield from self._bindings_of_loop(inner, values, scope)
            case ast.Tuple(elts=targets), ast.Call(func=ast.Name(id="zip"), args=values) if len(
                targets
            ) == len(values):
                for inner, value in zip(targets, values, strict=True):
                    yield from self._bindings_of_loop(inner, value, scope)
            case (
                ast.Tuple(elts=[ast.Name(id=key), ast.Name(id=item)]),
                ast.Call(func=ast.Attribute(value=mapping, attr="items"), args=[]),
            ):
                yield key, lambda depth: self._mapping_part(mapping, scope, 0, depth)
                yield item, lambda depth: self._mapping_part(mapping, scope, 1, depth)
            case _:
                for node in ast.walk(target):
                    if isinstance(node, ast.Name):
                        yield node.id, _unknown

    # ── the types of expressions ─────────────────────────────────────────────────────────────────

    def infer(self, value: ast.expr, scope: NameScope, depth: int = 0) -> Typed | None:
        """The type of an expression, where constants, annotations and builtins tell it."""
        if depth > _MAX_DEPTH:
            return None
        match value:
            case ast.Constant(value=constant) if constant is not ...:
                return _named("None" if constant is None else type(constant).__name__, scope)
            case ast.JoinedStr():
                return _named("str", scope)
            case ast.Compare() | ast.UnaryOp(op=ast.Not()):
                return _named("bool", scope)
            case ast.UnaryOp(operand=inner):
                return self.infer(inner, scope, depth + 1)
            case ast.BinOp(left=left, right=right):
                typed, other = (
                    self.infer(left, scope, depth + 1),
                    self.infer(right, scope, depth + 1),
                )
                both_scalar = all(part and self.name_of(part) in SCALARS for part in (typed, other))
                return typed if both_scalar else None
            case ast.Tuple(elts=parts):
                inner_types = [self.infer(part, scope, depth + 1) for part in parts]
                return _named("tuple", scope) if all(inner_types) else None
            case ast.IfExp(body=body, orelse=orelse):
                first, second = (
                    self.infer(body, scope, depth + 1),
                    self.infer(orelse, scope, depth + 1),
                )
                return first if first and second and str(first) == str(second) else None
            case ast.Name(id=name):
                return self._type_of_self(name, scope) or self.type_of(name, scope, depth + 1)
            case ast.Attribute(value=owner, attr=attribute):
                return self._field_of(owner, attribute, scope, depth)
            case ast.Subscript(value=owner, slice=ast.Slice()):
                return self.infer(owner, scope, depth + 1)
            case ast.Subscript(value=owner):
                return self._mapping_part(owner, scope, 1, depth) or self.element_of(
                    owner, scope, depth
                )
            case ast.Call(func=function):
                return self._result_of(function, scope, depth)
            case ast.Await(value=ast.Call(func=function)):
                return self._result_of(function, scope, depth)
        return None

    def _result_of(self, function: ast.expr, scope: NameScope, depth: int) -> Typed | None:
        match function:
            case ast.Name(id=name) if name in _BUILTIN_RESULTS and self._is_builtin(name, scope):
                return _named(_BUILTIN_RESULTS[name], scope)
            case ast.Name(id=name) if self.class_of(name, scope) is not None:
                return Typed(function, scope)
            case ast.Name(id=name):
                definition = self._function_of(name, scope)
                if definition is not None and definition[0].returns is not None:
                    return Typed(_unquote(definition[0].returns), definition[1])
            case ast.Attribute(value=owner, attr=method) if method in _STRING_METHODS:
                typed = self.infer(owner, scope, depth + 1)
                return typed if typed and self.name_of(typed) == "str" else None
        return None

    def _function_of(
        self, name: str, scope: NameScope
    ) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef, NameScope] | None:
        if (home := self._find_home(name, scope)) is None:
            return None
        found = self._statements_binding(name, home)
        match found:
            case [ast.FunctionDef() | ast.AsyncFunctionDef() as definition]:
                is_plain = not definition.decorator_list and not _is_generator(definition)
                return (definition, home) if is_plain else None
        return None

    def element_of(self, iterable: ast.expr, scope: NameScope, depth: int = 0) -> Typed | None:
        """The type of the elements of an iterable."""
        if depth > _MAX_DEPTH:
            return None
        match iterable:
            case ast.Call(func=ast.Name(id="range")):
                return _named("int", scope)
            case ast.Call(
                func=ast.Name(id="sorted" | "list" | "tuple" | "set" | "reversed"), args=[inner, *_]
            ):
                return self.element_of(inner, scope, depth + 1)
            case ast.Call(func=ast.Attribute(value=owner, attr="split" | "splitlines")):
                typed = self.infer(owner, scope, depth + 1)
                return typed if typed and self.name_of(typed) == "str" else None
            case ast.List(elts=[_, *_]) | ast.Tuple(elts=[_, *_]) | ast.Set(elts=[_, *_]):
                parts = [self.infer(part, scope, depth + 1) for part in iterable.elts]
                return parts[0] if len({str(part) for part in parts}) == 1 else None
        typed = self.infer(iterable, scope, depth + 1)
        return self._element_type(typed) if typed else None

    def _element_type(self, typed: Typed) -> Typed | None:
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

    def _mapping_part(
        self, mapping: ast.expr, scope: NameScope, index: int, depth: int
    ) -> Typed | None:
        typed = self.infer(mapping, scope, depth + 1)
        if typed is None:
            return None
        typed = self.expand(typed)
        match typed.annotation:
            case ast.Subscript(slice=ast.Tuple(elts=[_, _] as parts)) if (
                self.name_of(typed) in _MAPPINGS
            ):
                return typed.inside(parts[index])
        return None

    def _type_of_self(self, name: str, scope: NameScope) -> Typed | None:
        """The class of a method's first parameter, where no annotation says more."""
        around = scope.parent
        if (
            around is None
            or around.kind != "class"
            or isinstance(scope.node, ast.Module | ast.ClassDef)
        ):
            return None
        first = [*scope.node.args.posonlyargs, *scope.node.args.args][:1]
        if not first or first[0].arg != name or first[0].annotation or scope.node.decorator_list:
            return None
        return Typed(ast.Name(around.name, ast.Load()), around.parent or around)

    def _field_of(
        self, owner: ast.expr, attribute: str, scope: NameScope, depth: int
    ) -> Typed | None:
        typed = self.infer(owner, scope, depth + 1)
        return self.field_type(typed, attribute) if typed else None

    def field_type(self, typed: Typed, attribute: str) -> Typed | None:
        """The declared type of a field of a class of this file."""
        found = self.class_of_type(self.expand(typed))
        if found is None:
            return None
        return next((field for name, field in self._fields(found) if name == attribute), None)

    # ── what types are ───────────────────────────────────────────────────────────────────────────

    def name_of(self, typed: Typed) -> str:
        """The dotted name of a type or of its origin: `str`, `collections.abc.Mapping`, `typing.Literal`."""
        annotation = typed.annotation
        if isinstance(annotation, ast.Subscript):
            annotation = annotation.value
        match annotation:
            case ast.Constant(value=None):
                return "None"
            case ast.Name(id=name):
                return self._imported_name(name, typed.scope) or name
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                home = self._imported_name(module, typed.scope)
                return _canonical(f"{home}.{name}") if home else ""
            case ast.Attribute(
                value=ast.Attribute(value=ast.Name(id="collections"), attr="abc"), attr=name
            ):
                return f"collections.abc.{name}"
        return ""

    def _imported_name(self, name: str, scope: NameScope) -> str | None:
        """What a name imports, as a dotted name; the name itself for a builtin."""
        match resolve_name(name, scope, self.outputs):
            case Global(_, False):
                return name if hasattr(builtins, name) else None
            case Local(home) | Global(home, True):
                pass
            case _:
                return None
        found = self._statements_binding(name, home)
        match found:
            case [ast.ImportFrom(module=str(module), names=aliases, level=0)]:
                original = next(
                    alias.name for alias in aliases if (alias.asname or alias.name) == name
                )
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
        """The type behind quotes, aliases, `Annotated`, `Final` and the like."""
        if depth > _MAX_DEPTH:
            return typed
        match typed.annotation:
            case ast.Constant(value=str(text)):
                parsed = parse_type(text)
                return self.expand(typed.inside(parsed), depth + 1) if parsed is not None else typed
            case ast.Subscript(slice=inner) if self.name_of(typed) in (
                "typing.Final",
                "typing.ClassVar",
            ):
                return self.expand(typed.inside(inner), depth + 1)
            case ast.Subscript(slice=ast.Tuple(elts=[inner, *_])) if (
                self.name_of(typed) == "typing.Annotated"
            ):
                return self.expand(typed.inside(inner), depth + 1)
            case ast.Name(id=name):
                alias = self.alias_of(name, typed.scope)
                return self.expand(alias, depth + 1) if alias is not None else typed
        return typed

    def alias_of(self, name: str, scope: NameScope) -> Typed | None:
        """The type that `Name = ...` or `type Name = ...` names."""
        if (home := self._find_home(name, scope)) is None:
            return None
        found = self._statements_binding(name, home)
        match found:
            case [
                ast.Assign(
                    targets=[ast.Name()], value=ast.Subscript() | ast.BinOp() | ast.Name() as value
                )
            ]:
                return Typed(value, home)
            case [ast.AnnAssign(value=ast.expr() as value) as statement] if (
                self.name_of(Typed(statement.annotation, home)) == "typing.TypeAlias"
            ):
                return Typed(value, home)
            case [statement] if type(statement).__name__ == "TypeAlias":
                return Typed(statement.value, home)  # type: ignore[attr-defined]
        return None

    def class_of_type(self, typed: Typed) -> tuple[ast.ClassDef, NameScope] | None:
        """The class of this file that a type names, with the scope around it."""
        match typed.annotation:
            case ast.Name(id=name):
                found = self.class_of(name, typed.scope)
                match resolve_name(name, typed.scope, self.outputs):
                    case Local(home) | Global(home, True) if found is not None:
                        return found, home
        return None

    def union_parts(self, typed: Typed) -> list[Typed]:
        """The parts of a union; the type alone where it is none."""
        match typed.annotation:
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return [
                    *self.union_parts(self.expand(typed.inside(left))),
                    *self.union_parts(self.expand(typed.inside(right))),
                ]
            case ast.Subscript(slice=inner) if self.name_of(typed) == "typing.Optional":
                return [
                    *self.union_parts(self.expand(typed.inside(inner))),
                    _named("None", typed.scope),
                ]
            case ast.Subscript(slice=inner) if self.name_of(typed) == "typing.Union":
                parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                return [
                    found
                    for part in parts
                    for found in self.union_parts(self.expand(typed.inside(part)))
                ]
        return [typed]

    def is_read_only(self, typed: Typed) -> bool:
        """Whether nobody can change a value of a type through it, as far as its outermost level goes."""
        parts = self.union_parts(self.expand(typed))
        return all(self._is_part_read_only(part) for part in parts)

    def _is_part_read_only(self, typed: Typed) -> bool:
        name = self.name_of(typed)
        if name in SCALARS or name in _READ_ONLY_CONTAINERS or name == "typing.Literal":
            return True
        found = self.class_of_type(typed)
        if found is None:
            return False
        bases = set(self._bases(found))
        return bool(bases & _ENUM_BASES) or "typing.NamedTuple" in bases or _is_frozen(found[0])

    def has_json_form(self, typed: Typed, seen: frozenset[str] = frozenset()) -> bool:
        """Whether JSON carries all values of a type."""
        parts = self.union_parts(self.expand(typed))
        return all(self._has_part_json_form(part, seen) for part in parts)

    def _has_part_json_form(self, typed: Typed, seen: frozenset[str]) -> bool:
        name = self.name_of(typed)
        if name in SCALARS:
            return name not in _WITHOUT_JSON
        if name == "typing.Literal":
            return True
        match typed.annotation:
            case ast.Subscript(slice=inner) if name in _JSON_CONTAINERS:
                parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                parts = [
                    part
                    for part in parts
                    if not (isinstance(part, ast.Constant) and part.value is ...)
                ]
                return all(self.has_json_form(typed.inside(part), seen) for part in parts)
        found = self.class_of_type(typed)
        if found is None:
            return False
        if found[0].name in seen:
            return True
        bases = set(self._bases(found))
        if bases & _ENUM_BASES:
            return True
        if not (bases & _DATA_BASES or _is_dataclass(found[0])):
            return False
        fields = list(self._fields(found))
        return bool(fields) and all(
            self.has_json_form(field, seen | {found[0].name}) for _, field in fields
        )

    def _bases(self, found: tuple[ast.ClassDef, NameScope], depth: int = 0) -> Iterator[str]:
        """The dotted names of the bases of a class, through classes of this file."""
        node, scope = found
        for base in node.bases:
            typed = Typed(base, scope)
            yield self.name_of(typed)
            inner = self.class_of_type(typed)
            if inner is not None and depth < _MAX_DEPTH:
                yield from self._bases(inner, depth + 1)

    def _fields(
        self, found: tuple[ast.ClassDef, NameScope], depth: int = 0
    ) -> Iterator[tuple[str, Typed]]:
        """The annotated fields of a class, those of its bases in this file first."""
        node, scope = found
        for base in node.bases:
            inner = self.class_of_type(Typed(base, scope))
            if inner is not None and depth < _MAX_DEPTH:
                yield from self._fields(inner, depth + 1)
        for statement in node.body:
            match statement:
                case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                    typed = Typed(_unquote(annotation), scope)
                    if self.name_of(typed) != "typing.ClassVar":
                        yield name, typed
                case ast.FunctionDef(name="__init__"):
                    for name, annotation in _list_attributes_set(statement):
                        yield name, Typed(_unquote(annotation), scope)

    def _is_builtin(self, name: str, scope: NameScope) -> bool:
        home = resolve_name(name, scope, self.outputs)
        return isinstance(home, Global) and not home.known


def _unknown(depth: int) -> Typed | None:
    """The binding that tells no type."""
    return None


def _always(typed: Typed | None) -> Binding:
    """The binding of a known type."""
    return lambda depth: typed


def _named(name: str, scope: NameScope) -> Typed:
    """The type of a builtin name, in the module, where nothing but the module can hide it."""
    module = next(place for place in walk_outwards(scope) if place.parent is None)
    constant = ast.Constant(None) if name == "None" else ast.Name(name, ast.Load())
    return Typed(constant, module)


def _unquote(annotation: ast.expr) -> ast.expr:
    """The annotation in the quotes, where it stands in quotes as a whole."""
    match annotation:
        case ast.Constant(value=str(text)):
            return parse_type(text) or annotation
    return annotation


def _walk_statements(scope: NameScope) -> Iterator[ast.stmt]:
    """The statements of a scope, nested suites included, in the order of the source."""
    waiting = [*reversed(scope.node.body)]
    while waiting:
        statement = waiting.pop()
        yield statement
        for suite in reversed(list(list_suites(statement))):
            waiting += reversed(suite)


def _list_attributes_set(init: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """The attributes that `__init__` sets, with their annotations or those of the parameters that they are set to."""
    arguments = [*init.args.posonlyargs, *init.args.args, *init.args.kwonlyargs]
    parameters = {
        argument.arg: argument.annotation for argument in arguments if argument.annotation
    }
    for statement in init.body:
        match statement:
            case ast.AnnAssign(
                target=ast.Attribute(value=ast.Name(id="self"), attr=name), annotation=annotation
            ):
                yield name, annotation
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)],
                value=ast.Name(id=parameter),
            ) if parameter in parameters:
                yield name, parameters[parameter]


def _is_generator(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function))


def _canonical(name: str) -> str:
    """One name for each type of the standard library that has several."""
    module, _, leaf = name.rpartition(".")
    if module in _TYPING_MODULES:
        return _TYPING_NAMES.get(leaf, f"typing.{leaf}")
    return name


def _dataclass_call(node: ast.ClassDef) -> ast.expr | None:
    for decorator in node.decorator_list:
        function = decorator.func if isinstance(decorator, ast.Call) else decorator
        if ast.unparse(function).rpartition(".")[2] == "dataclass":
            return decorator
    return None


def _is_dataclass(node: ast.ClassDef) -> bool:
    return _dataclass_call(node) is not None


def _is_frozen(node: ast.ClassDef) -> bool:
    """Whether a class is a dataclass with `frozen=True`."""
    match _dataclass_call(node):
        case ast.Call(keywords=keywords):
            return any(
                keyword.arg == "frozen"
                and isinstance(keyword.value, ast.Constant)
                and keyword.value.value is True
                for keyword in keywords
            )
    return False
