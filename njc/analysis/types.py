"""What the types of a file are: their names, parts and fields, without running anything.

    Rows: TypeAlias = "Sequence[Row]"       expand(Rows)                      Sequence[Row]
    @dataclass                              union_parts(Row | None)           [Row, None]
    class Row: ...                          field_type(Row, "name")           str

A type is an annotation together with the scope in which its names mean something. What it does not see: classes
of other modules, whose fields it cannot know; annotations that lie.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from njc.frontend.names import (
    BlockOutputs,
    Global,
    Local,
    NameScope,
    list_bound_names,
    resolve_name,
    walk_outwards,
    walk_statements,
)
from njc.frontend.references import parse_type

MAX_DEPTH = 12
"""How many steps from one type or expression to the next are followed."""

SCALARS = frozenset(
    {
        *("str", "int", "float", "bool", "None", "bytes", "complex"),
        *("datetime.date", "datetime.datetime", "datetime.time", "datetime.timedelta"),
        *("decimal.Decimal", "fractions.Fraction", "uuid.UUID"),
        *("pathlib.Path", "pathlib.PurePath", "pathlib.PurePosixPath"),
    }
)
"""Types whose values cannot be changed and, but for `complex` and `Fraction`, are written as one JSON scalar."""

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
_UNIONS = ("typing.Optional", "typing.Union")
_TYPING_MODULES = ("typing", "typing_extensions", "collections.abc")


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
class TypeDefinitions:
    """The types of one module: what their names mean, and what they are made of."""

    outputs: BlockOutputs
    text: str
    """The text of the module, which tells what need not be looked for."""

    # ── names ────────────────────────────────────────────────────────────────────────────────────

    def class_of(self, name: str, scope: NameScope) -> ast.ClassDef | None:
        """The class statement that a name means, if it means one class of this file."""
        if (home := self.find_home(name, scope)) is None:
            return None
        statements = self.find_statements_binding(name, home)
        match statements:
            case [ast.ClassDef() as found]:
                return found
        return None

    def find_home(self, name: str, scope: NameScope) -> NameScope | None:
        """The scope that binds a name as `scope` sees it; None for builtins and type parameters."""
        match resolve_name(name, scope, self.outputs):
            case Local(home) | Global(home, True):
                return home
        return None

    def find_statements_binding(self, name: str, scope: NameScope) -> list[ast.stmt]:
        """The statements of a scope that bind a name, as it is written."""
        if scope not in self._statements_by_scope:
            by_name: dict[str, list[ast.stmt]] = {}
            for statement in walk_statements(scope):
                for bound in list_bound_names(statement, self.has_walrus):
                    by_name.setdefault(bound, []).append(statement)
            self._statements_by_scope[scope] = by_name
        return self._statements_by_scope[scope].get(name, [])

    @cached_property
    def has_walrus(self) -> bool:
        """Whether an expression of the module may bind a name."""
        return ":=" in self.text

    @cached_property
    def _statements_by_scope(self) -> dict[NameScope, dict[str, list[ast.stmt]]]:
        return {}

    def is_builtin(self, name: str, scope: NameScope) -> bool:
        home = resolve_name(name, scope, self.outputs)
        return isinstance(home, Global) and not home.known

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
        found = self.find_statements_binding(name, home)
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
        """The type behind quotes, aliases, `NewType`, `Annotated`, `Final`, `NotRequired` and the like."""
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

    def alias_of(self, name: str, scope: NameScope) -> Typed | None:
        """The type that `Name = ...`, `type Name = ...` or `Name = NewType("Name", ...)` names."""
        if (home := self.find_home(name, scope)) is None:
            return None
        found = self.find_statements_binding(name, home)
        match found:
            case [
                ast.Assign(
                    targets=[ast.Name()], value=ast.Subscript() | ast.BinOp() | ast.Name() as value
                )
            ]:
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

    def find_name_for_checkers(self, typed: Typed) -> str | None:
        """A name at the outermost level of a type that is bound under `if TYPE_CHECKING:` alone."""
        if "TYPE_CHECKING" not in self.text:
            return None
        match typed.annotation:
            case ast.Constant(value=str(text)) if (parsed := parse_type(text)) is not None:
                return self.find_name_for_checkers(typed.inside(parsed))
            case ast.Name(id=name) if (home := self.find_home(name, typed.scope)) is not None:
                found = self.find_statements_binding(name, home)
                hidden = self._list_for_checkers(home)
                return name if found and all(id(one) in hidden for one in found) else None
            case ast.Attribute(value=part):
                return self.find_name_for_checkers(typed.inside(part))
            case ast.BinOp(left=left, right=right):
                parts = [left, right]
            case ast.Subscript(value=value, slice=ast.Tuple(elts=[first, *_])) if (
                self.name_of(typed) == "typing.Annotated"
            ):
                parts = [value, first]
            case ast.Subscript(value=value, slice=inner) if self.name_of(typed) in _UNIONS:
                parts = [value, *(inner.elts if isinstance(inner, ast.Tuple) else [inner])]
            case ast.Subscript(value=value):
                parts = [value]
            case _:
                return None
        found_names = (self.find_name_for_checkers(typed.inside(part)) for part in parts)
        return next(filter(None, found_names), None)

    def find_unresolved_name(self, found: tuple[ast.ClassDef, NameScope]) -> str | None:
        """A local name in the fields of a class whose annotations are texts, which mean names of the module."""
        node, scope = found
        are_texts = "from __future__ import annotations" in self.text
        for statement in node.body if scope.parent is not None else ():
            if isinstance(statement, ast.AnnAssign):
                annotation = statement.annotation
                quoted = unquote(annotation)
                for part in ast.walk(quoted) if are_texts or quoted is not annotation else ():
                    match part:
                        case ast.Name(id=name) if (home := self.find_home(name, scope)) is not None:
                            if home.parent is not None:
                                return name
        return None

    def _list_for_checkers(self, scope: NameScope) -> frozenset[int]:
        """The ids of the statements of a scope that only type checkers read."""
        if scope not in self._for_checkers_by_scope:
            self._for_checkers_by_scope[scope] = frozenset(
                id(inner)
                for statement in walk_statements(scope)
                if isinstance(statement, ast.If)
                and ast.unparse(statement.test).rpartition(".")[2] == "TYPE_CHECKING"
                for child in statement.body
                for inner in ast.walk(child)
            )
        return self._for_checkers_by_scope[scope]

    @cached_property
    def _for_checkers_by_scope(self) -> dict[NameScope, frozenset[int]]:
        return {}

    def class_of_type(self, typed: Typed) -> tuple[ast.ClassDef, NameScope] | None:
        """The class of this file that a type names, with the scope around it."""
        match typed.annotation:
            case ast.Name(id=name):
                found = self.class_of(name, typed.scope)
                match resolve_name(name, typed.scope, self.outputs):
                    case Local(home) | Global(home, True) if found is not None:
                        return found, home
        return None

    def union_parts(self, typed: Typed, depth: int = 0) -> list[Typed]:
        """The parts of a union; the type alone where it is none, or is too deep."""
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

    def unquote_inside(self, typed: Typed) -> ast.expr:
        """The annotation without quotes, also around its parts; the texts of a `Literal` keep theirs."""
        annotation = typed.annotation
        match annotation:
            case ast.Constant(value=str(text)):
                parsed = parse_type(text)
                return self.unquote_inside(typed.inside(parsed)) if parsed else annotation
            case ast.Subscript(value=origin, slice=inner) if self._holds_types(typed):
                return ast.Subscript(origin, self.unquote_inside(typed.inside(inner)), ast.Load())
            case ast.Subscript(value=origin, slice=ast.Tuple(elts=[first, *notes])) if (
                self.name_of(typed) == "typing.Annotated"
            ):
                parts = [self.unquote_inside(typed.inside(first)), *notes]
                return ast.Subscript(origin, ast.Tuple(parts, ast.Load()), ast.Load())
            case ast.BinOp(left=left, op=ast.BitOr() as bar, right=right):
                return ast.BinOp(
                    self.unquote_inside(typed.inside(left)),
                    bar,
                    self.unquote_inside(typed.inside(right)),
                )
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                inside = [self.unquote_inside(typed.inside(part)) for part in parts]
                return type(annotation)(inside, ast.Load())
        return annotation

    def _holds_types(self, typed: Typed) -> bool:
        """Whether what stands in the brackets of a type is known to be types."""
        assert isinstance(typed.annotation, ast.Subscript)
        origin = self.expand(typed.inside(typed.annotation.value))
        name = self.name_of(origin)
        if name.rpartition(".")[2] in ("Literal", "Annotated"):
            return False
        is_known = "." in name or self.class_of_type(origin) is not None
        return is_known or hasattr(builtins, name)

    def bases_of(self, found: tuple[ast.ClassDef, NameScope], depth: int = 0) -> Iterator[str]:
        """The dotted names of the bases of a class, through classes of this file."""
        node, scope = found
        for base in node.bases:
            typed = Typed(base, scope)
            yield self.name_of(typed)
            inner = self.class_of_type(typed)
            if inner is not None and depth < MAX_DEPTH:
                yield from self.bases_of(inner, depth + 1)

    def fields_of(
        self, found: tuple[ast.ClassDef, NameScope], depth: int = 0
    ) -> Iterator[tuple[str, Typed]]:
        """The annotated fields of a class, those of its bases in this file first."""
        node, scope = found
        for base in node.bases:
            inner = self.class_of_type(Typed(base, scope))
            if inner is not None and depth < MAX_DEPTH:
                yield from self.fields_of(inner, depth + 1)
        for statement in node.body:
            match statement:
                case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                    typed = Typed(unquote(annotation), scope)
                    if self.name_of(typed) != "typing.ClassVar":
                        yield name, typed
                case ast.FunctionDef(name="__init__"):
                    for name, annotation in _list_attributes_set(statement):
                        yield name, Typed(unquote(annotation), scope)

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
        """The type of the keys (0) or the values (1) of a mapping."""
        typed = self.expand(typed)
        match typed.annotation:
            case ast.Subscript(slice=ast.Tuple(elts=[_, _] as parts)) if (
                self.name_of(typed) in _MAPPINGS
            ):
                return typed.inside(parts[index])
        return None

    def field_type(self, typed: Typed, attribute: str) -> Typed | None:
        """The declared type of a field of a class of this file."""
        found = self.class_of_type(self.expand(typed))
        if found is None:
            return None
        fields = dict(self.fields_of(found))
        return fields.get(attribute) or self.find_property_type(found, attribute)

    def find_property_type(self, found: tuple[ast.ClassDef, NameScope], name: str) -> Typed | None:
        """What a property of a class of this file says that it returns."""
        for method, scope in self.find_methods(found, name):
            kinds = [ast.unparse(part) for part in method.decorator_list]
            if kinds in (["property"], ["cached_property"], ["functools.cached_property"]):
                return Typed(unquote(method.returns), scope) if method.returns else None
        return None

    def find_method_result(self, found: tuple[ast.ClassDef, NameScope], name: str) -> Typed | None:
        """What a method of a class of this file says that it returns, or what awaiting it gives."""
        for method, scope in self.find_methods(found, name):
            is_plain = not method.decorator_list and method.returns is not None
            return Typed(unquote(method.returns), scope) if is_plain and method.returns else None
        return None

    def find_methods(
        self, found: tuple[ast.ClassDef, NameScope], name: str, depth: int = 0
    ) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, NameScope]]:
        """The functions of this name in a class and in its bases in this file, with the scope around their class."""
        node, scope = found
        for statement in node.body:
            match statement:
                case ast.FunctionDef(name=defined) | ast.AsyncFunctionDef(name=defined) if (
                    defined == name
                ):
                    yield statement, scope
        for base in node.bases:
            inner = self.class_of_type(Typed(base, scope))
            if inner is not None and depth < MAX_DEPTH:
                yield from self.find_methods(inner, name, depth + 1)


def make_builtin_type(name: str, scope: NameScope) -> Typed:
    """The type of a builtin name, in the module, where nothing but the module can hide it."""
    module = next(place for place in walk_outwards(scope) if place.parent is None)
    constant = ast.Constant(None) if name == "None" else ast.Name(name, ast.Load())
    return Typed(constant, module)


def unquote(annotation: ast.expr) -> ast.expr:
    """The annotation in the quotes, where it stands in quotes as a whole."""
    match annotation:
        case ast.Constant(value=str(text)):
            return parse_type(text) or annotation
    return annotation


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


def _canonical(name: str) -> str:
    """One name for each type of the standard library that has several."""
    module, _, leaf = name.rpartition(".")
    if module in _TYPING_MODULES:
        return _TYPING_NAMES.get(leaf, f"typing.{leaf}")
    return name
