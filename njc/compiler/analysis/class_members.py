"""The declarations in a file's classes: bases, fields, properties and methods.

    @dataclass             types.list_fields(Row)                    ("name", str)
    class Row(Base):       types.list_base_names(Row)                "Base", and the bases of `Base`
        name: str          types.find_field_type(Row, "name")        str

Not detected: bases from other modules, and additions by decorators and metaclasses.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache

from njc.compiler.analysis.annotations import unquote
from njc.compiler.analysis.types import MAX_DEPTH, ClassDefinition, Typed, TypeDefinitions
from njc.compiler.frontend.name_resolution import (
    FunctionDefinition,
    NameScope,
    list_named_parameters,
)

ENUM_BASES = frozenset(f"enum.{name}" for name in ("Enum", "IntEnum", "StrEnum"))
FLAG_BASES = frozenset({"enum.Flag", "enum.IntFlag"})
MODEL_BASES = frozenset({"pydantic.BaseModel", "pydantic.main.BaseModel"})
DATA_BASES = MODEL_BASES | {"typing.NamedTuple", "typing.TypedDict"}


def is_dataclass(node: ast.ClassDef) -> bool:
    """Return whether a class is a dataclass."""
    functions = (each.func if isinstance(each, ast.Call) else each for each in node.decorator_list)
    return any(ast.unparse(function).rpartition(".")[2] == "dataclass" for function in functions)


class DeclaredTypes(TypeDefinitions):
    """A module's types, with the declarations in its classes."""

    def list_base_names(self, found: ClassDefinition) -> Iterator[str]:
        """Yield the dotted names of the bases of a class, through classes of this file."""
        for node, scope in self.walk_bases(found):
            for base in node.bases:
                yield self.name_of(Typed(base, scope))

    def list_fields(self, found: ClassDefinition, depth: int = 0) -> Iterator[tuple[str, Typed]]:
        """Yield a class's annotated fields; the fields of its bases in this file come first."""
        node, scope = found
        for base in self._find_bases(found) if depth < MAX_DEPTH else ():
            yield from self.list_fields(base, depth + 1)
        for statement in _list_field_statements(node):
            match statement:
                case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                    typed = Typed(unquote(annotation), scope)
                    if self.name_of(typed) != "typing.ClassVar":
                        yield name, typed
                case ast.FunctionDef(name="__init__"):
                    for name, annotation in _list_attributes_set(statement, node):
                        yield name, Typed(unquote(annotation), scope)

    def map_fields(self, found: ClassDefinition) -> Mapping[str, Typed]:
        """Return a class's fields by name; they are cached, because many blocks may need them."""
        if found not in self._fields_by_class:
            self._fields_by_class[found] = dict(self.list_fields(found))
        return self._fields_by_class[found]

    def find_field_type(self, typed: Typed, attribute: str) -> Typed | None:
        """Return the declared type of a field or property of a class in this file."""
        found = self.class_of_type(self.expand(typed))
        if found is None:
            return None
        field = self.map_fields(found).get(attribute)
        return field or self._find_property_type(found, attribute)

    def _find_property_type(self, found: ClassDefinition, name: str) -> Typed | None:
        for method, scope in self._find_methods(found, name):
            kinds = [ast.unparse(part) for part in method.decorator_list]
            if kinds in (["property"], ["cached_property"], ["functools.cached_property"]):
                if method.returns is None or isinstance(method, ast.AsyncFunctionDef):
                    return None
                return Typed(unquote(method.returns), scope)
        return None

    def find_method_result(
        self, found: ClassDefinition, name: str, is_awaited: bool
    ) -> Typed | None:
        """Return the annotated result of a method of a class in this file."""
        methods = self._find_methods(found, name)
        return next((find_result(each, is_awaited) for each in methods), None)

    def _find_methods(
        self, found: ClassDefinition, name: str
    ) -> Iterator[tuple[FunctionDefinition, NameScope]]:
        """Yield functions of this name, with their scope, in a class and its bases in this file."""
        for node, scope in self.walk_bases(found):
            for function in group_functions(node).get(name, ()):
                yield function, scope

    def walk_bases(self, found: ClassDefinition, depth: int = 0) -> Iterator[ClassDefinition]:
        """Yield a class, then its bases in this file."""
        yield found
        for base in self._find_bases(found) if depth < MAX_DEPTH else ():
            yield from self.walk_bases(base, depth + 1)

    def _find_bases(self, found: ClassDefinition) -> Iterator[ClassDefinition]:
        node, scope = found
        return filter(None, (self.class_of_type(Typed(base, scope)) for base in node.bases))

    @cached_property
    def _fields_by_class(self) -> dict[ClassDefinition, dict[str, Typed]]:
        """A cache of the requested fields; a class may have many methods with blocks."""
        return {}


def find_result(definition: tuple[FunctionDefinition, NameScope], is_awaited: bool) -> Typed | None:
    """Return a call's annotated result, awaited or not.

    None for a coroutine, a generator or a decorated function.
    """
    function, scope = definition
    is_plain = not function.decorator_list and not any(
        isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function)
    )
    if isinstance(function, ast.AsyncFunctionDef) != is_awaited or not is_plain:
        return None
    return Typed(unquote(function.returns), scope) if function.returns else None


@lru_cache(maxsize=64)
def group_functions(node: ast.ClassDef) -> Mapping[str, Sequence[FunctionDefinition]]:
    """Return the functions directly in a class body, by name."""
    by_name: dict[str, list[FunctionDefinition]] = {}
    for statement in node.body:
        if isinstance(statement, FunctionDefinition):
            by_name.setdefault(statement.name, []).append(statement)
    return by_name


@lru_cache(maxsize=64)
def _list_field_statements(node: ast.ClassDef) -> Sequence[ast.stmt]:
    """Return the statements of a class body that can declare fields: annotations and `__init__`."""
    return [
        statement
        for statement in node.body
        if isinstance(statement, ast.AnnAssign) or getattr(statement, "name", "") == "__init__"
    ]


@lru_cache(maxsize=64)
def list_attribute_stores(node: ast.ClassDef) -> tuple[str, ...]:
    """Return the attributes that code in a class sets; for `setattr` and so on, their own names."""
    return tuple(_walk_attribute_stores(node))


def _walk_attribute_stores(node: ast.ClassDef) -> Iterator[str]:
    for part in ast.walk(node):
        match part:
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.Attribute(attr="__setattr__" | "__dict__" as name):
                yield name
            case ast.Call(func=ast.Name(id="setattr" | "vars" as name)):
                yield name


def _list_attributes_set(
    init: ast.FunctionDef, node: ast.ClassDef
) -> Iterator[tuple[str, ast.expr]]:
    """Yield the attributes that `__init__` sets, with their own or their parameters' annotations.

    An attribute that other code in the class also sets has no type unless it is annotated itself.
    """
    stores = Counter(list_attribute_stores(node))
    named = list_named_parameters(init.args)
    parameters = {each.arg: each.annotation for each in named if each.annotation}
    for statement in init.body:
        match statement:
            case ast.AnnAssign(
                target=ast.Attribute(value=ast.Name(id="self"), attr=name), annotation=annotation
            ):
                yield name, annotation
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)],
                value=ast.Name(id=parameter),
            ) if parameter in parameters and stores[name] == 1:
                yield name, parameters[parameter]
