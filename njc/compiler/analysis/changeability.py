"""Values that cannot be changed, including everything that they contain.

    Sequence[str], tuple[date, ...], a frozen dataclass of such fields  find_changeable(...) is None
    Sequence[list[str]]                                                 list[str]
    a frozen dataclass with a field `tags: list[str]`                   list[str]

`Sequence`, `Mapping` and the like are the author's promise for their own level only; their elements
are checked like other types. An `Iterable` may be a generator, which showing it would use up. Types
not known to be immutable count as changeable: classes in other modules, classes with unannotated
attributes. Not detected: wrong annotations, and code outside a class that sets its attributes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from njc.compiler.analysis.annotations import unquote
from njc.compiler.analysis.class_members import (
    DATA_BASES,
    ENUM_BASES,
    FLAG_BASES,
    MODEL_BASES,
    DeclaredTypes,
    group_functions,
    is_dataclass,
    list_attribute_stores,
)
from njc.compiler.analysis.types import SCALARS, ClassDefinition, Typed
from njc.compiler.frontend.name_resolution import FunctionDefinition, NameScope
from njc.compiler.frontend.prompt_references import list_variables

_PATHS = frozenset({"pathlib.Path"})
"""Scalars that refer to files."""
ABSTRACT_CONTAINERS = frozenset(
    f"collections.abc.{name}" for name in ("Sequence", "Mapping", "Collection", "Set")
)
CONTAINERS = ABSTRACT_CONTAINERS | {"tuple", "frozenset"}
_NEUTRAL_BASES = frozenset(
    {"object", "abc.ABC", "str", "int", "float", "typing.NamedTuple", "typing.Generic"}
)
_FROZEN_DECORATORS = ("dataclass", "define", "attrs", "s", "mutable")
_PROPERTIES = ("property", "functools.cached_property", "enum.property")
_HOOKS = ("validator", "default", "setter", "deleter")
"""The last names of decorators such as `@name.validator`, for methods that a class calls itself."""


class ChangeReader(DeclaredTypes):
    """A module's types, and whether their values can be changed."""

    def is_read_only(self, typed: Typed) -> bool:
        """Return whether a type's values, and everything that they contain, are immutable."""
        return self.find_changeable(typed) is None

    def find_changeable(self, typed: Typed, seen: set[object] | None = None) -> Typed | None:
        """Return the part of a type that makes its values changeable; None for an immutable type.

        `seen` contains the classes and types found so far: each is examined once.
        """
        seen = set() if seen is None else seen
        found = self.union_parts(self.expand(typed))
        parts = [part for part in found if (part.annotation, part.scope) not in seen]
        seen.update((part.annotation, part.scope) for part in parts)
        return _first(self._find_in_part(part, seen) for part in parts)

    def _find_in_part(self, typed: Typed, seen: set[object]) -> Typed | None:
        name = self.name_of(typed)
        if (name in SCALARS and name not in _PATHS) or name == "range":
            return None
        if is_exception_name(name):
            return None
        inner = list_parts(typed)
        if name == "typing.Literal":
            owners = [part.value for part in inner if isinstance(part, ast.Attribute)]
            return _first(self.find_changeable(typed.inside(owner), seen) for owner in owners)
        if name == "type" and inner:
            return self._find_in_class(typed, typed.inside(inner[0]), seen)
        if name in CONTAINERS and inner:
            return _first(self.find_changeable(typed.inside(part), seen) for part in inner)
        found = self.class_of_type(typed)
        if found is None or found[0] in seen:
            return typed if found is None else None
        if not self._is_known_class(found):
            return typed
        seen.add(found[0])
        return self.find_changeable_attribute(found, seen)

    def _find_in_class(self, typed: Typed, named: Typed, seen: set[object]) -> Typed | None:
        """Return `typed`, the type of a class, if a class in it may have a changeable attribute."""
        for part in self.union_parts(self.expand(named)):
            found, name = self.class_of_type(part), self.name_of(part)
            if found is None and name not in SCALARS | {"range"} and not is_exception_name(name):
                return typed
            if found is not None and self.find_changeable_class_attribute(found, seen):
                return typed
        return None

    def _is_known_class(self, found: ClassDefinition) -> bool:
        """Return whether instance attributes are set only once and all its bases are known."""
        direct = {self.name_of(Typed(base, found[1])) for base in found[0].bases}
        bases = set(self.list_base_names(found)) - {""}
        is_exception = any(map(is_exception_name, bases))
        is_set_once = (
            bool(bases & (ENUM_BASES | FLAG_BASES))
            or "typing.NamedTuple" in direct
            or is_exception
            or _is_frozen(found[0], bases)
        )
        known = _NEUTRAL_BASES | ENUM_BASES | FLAG_BASES | MODEL_BASES
        return is_set_once and all(
            self.name_of(typed) in known
            or is_exception_name(self.name_of(typed))
            or self.class_of_type(typed) is not None
            for node, scope in self.walk_bases(found)
            for base in node.bases
            for typed in [Typed(base.value if isinstance(base, ast.Subscript) else base, scope)]
        )

    def find_changeable_attribute(self, found: ClassDefinition, seen: set[object]) -> Typed | None:
        """Return a changeable instance attribute's type or a class that sets an undeclared one."""
        fields = self.map_fields(found)
        undeclared = (
            _name_class((node, scope))
            for node, scope in self.walk_bases(found)
            if not fields.keys() >= set(list_attribute_stores(node))
        )
        return (
            _first(self.find_changeable(typed, seen) for typed in fields.values())
            or next(undeclared, None)
            or self.find_changeable_class_attribute(found, seen)
        )

    def walk_classes(
        self, typed: Typed, seen: set[object] | None = None
    ) -> Iterator[tuple[ClassDefinition, bool]]:
        """Yield the classes of a type's values and of values in them; True if one is the value."""
        seen = set() if seen is None else seen
        for part in self.union_parts(self.expand(typed)):
            if (part.annotation, part.scope) in seen:
                continue
            seen.add((part.annotation, part.scope))
            inner = [part.inside(argument) for argument in list_parts(part)]
            match self.name_of(part):
                case "typing.Literal":
                    owners = (each.annotation for each in inner)
                    inner = [
                        part.inside(it.value) for it in owners if isinstance(it, ast.Attribute)
                    ]
                case "type":
                    named = (self.class_of_type(self.expand(each)) for each in inner)
                    yield from ((found, True) for found in named if found)
                    continue
            if (found := self.class_of_type(part)) is not None:
                yield found, False
                inner = [*self.map_fields(found).values()]
            for each in inner:
                yield from self.walk_classes(each, seen)

    def find_method(self, typed: Typed) -> str | None:
        """Return a public method of a type's values or of values in them; None for plain data."""
        methods = (self.find_public_method(*found) for found in self.walk_classes(typed))
        return next(filter(None, methods), None)

    def find_public_method(self, found: ClassDefinition, of_class: bool = False) -> str | None:
        """Return a method for callers (`Client.lookup`) of a class or its bases in this file.

        Properties of read-only types do not count; with `of_class`, only methods of the class
        itself do.
        """
        is_enum = any(base in ENUM_BASES for base in self.list_base_names(found))
        for node, scope in self.walk_bases(found):
            for name, functions in group_functions(node).items():
                is_public = name == "__call__" or not name.startswith("_")
                for function in functions if is_public else ():
                    kinds = [Typed(_get_called(it), scope) for it in function.decorator_list]
                    names = {self.name_of(kind) for kind in kinds}
                    if of_class and not is_enum and names.isdisjoint(_METHODS_OF_CLASSES):
                        continue
                    if not self._is_field_like(function, kinds):
                        return f"{node.name}.{name}"
        return None

    def _is_field_like(self, function: FunctionDefinition, decorators: Sequence[Typed]) -> bool:
        """Return whether a class's function is a read-only property, a validator or the like."""
        for decorator in decorators:
            name = self.name_of(decorator)
            if name in _PROPERTIES and isinstance(function, ast.FunctionDef) and function.returns:
                return self.is_read_only(decorator.inside(unquote(function.returns)))
            is_hook = getattr(decorator.annotation, "attr", "") in _HOOKS
            if name.startswith("pydantic.") or is_hook:
                return True
        return False

    def find_changeable_class_attribute(
        self, found: ClassDefinition, seen: set[object] | None = None
    ) -> Typed | None:
        """Return the type of a changeable attribute of the class itself, including enum members."""
        seen = set() if seen is None else seen
        statements = ((each, base) for base in self.walk_bases(found) for each in base[0].body)
        return _first(self._find_in_class_statement(*each, seen) for each in statements)

    def _find_in_class_statement(
        self, statement: ast.stmt, found: ClassDefinition, seen: set[object]
    ) -> Typed | None:
        node, scope = found
        match statement:
            case ast.AnnAssign(annotation=annotation, value=value):
                typed = Typed(unquote(annotation), scope)
                is_own = self.name_of(typed) == "typing.ClassVar" or not (
                    is_dataclass(node) or DATA_BASES & set(self.list_base_names(found))
                )
                return self.find_changeable(typed, seen) if value and is_own else None
            case ast.Assign(targets=[ast.Name(id=name)]) if (
                name == "model_config" or name[:2] == name[-2:] == "__"
            ):
                return None
            case ast.Assign(value=value):
                inferred = self.infer_class_value(value, node, scope)
                is_fixed = inferred is not None and self.find_changeable(inferred, seen) is None
                return None if is_fixed else _name_class(found)
            case ast.FunctionDef(returns=returns, decorator_list=decorators) if any(
                ast.unparse(one).endswith("cached_property") for one in decorators
            ):
                typed = Typed(unquote(returns), scope) if returns else _name_class(found)
                return self.find_changeable(typed, seen) if returns else typed
        return None

    def infer_class_value(
        self, value: ast.expr, node: ast.ClassDef, scope: NameScope
    ) -> Typed | None:
        """Return a value's type in a class body; None if it depends on other names in the body."""
        names = {*list_variables(value)}
        if not names.isdisjoint(self.open_class(node, scope).bindings.statements):
            return None
        if isinstance(value, ast.Call) and self.name_of(Typed(value.func, scope)) == "enum.auto":
            return self.infer(ast.Constant(0), scope)
        return self.infer(value, scope)


_METHODS_OF_CLASSES = frozenset({"classmethod", "staticmethod"})


def _get_called(decorator: ast.expr) -> ast.expr:
    """Return a decorator without its arguments."""
    return decorator.func if isinstance(decorator, ast.Call) else decorator


def _first(found: Iterable[Typed | None]) -> Typed | None:
    return next((typed for typed in found if typed is not None), None)


def list_parts(typed: Typed) -> Sequence[ast.expr]:
    """Return a type's arguments, without a tuple's `...`; `[None]` for the empty tuple."""
    match typed.annotation:
        case ast.Subscript(slice=ast.Tuple(elts=[])):
            return [ast.Constant(None)]
        case ast.Subscript(slice=ast.Tuple(elts=parts)):
            return [part for part in parts if getattr(part, "value", None) is not ...]
        case ast.Subscript(slice=part):
            return [part]
    return []


def is_exception_name(name: str) -> bool:
    """Return whether a name follows the naming convention for exceptions."""
    leaf = name.rpartition(".")[2]
    return leaf[:1].isupper() and leaf.endswith(("Error", "Exception", "Warning"))


def _is_frozen(node: ast.ClassDef, bases: set[str]) -> bool:
    """Return whether a class is a frozen dataclass, attrs class or pydantic model."""
    for decorator in node.decorator_list:
        match decorator:
            case ast.Call(func=function, keywords=keywords):
                is_known = ast.unparse(function).rpartition(".")[2] in _FROZEN_DECORATORS
                if is_known and _has_frozen(keywords):
                    return True
            case ast.Attribute(value=ast.Name(id="attrs" | "attr"), attr="frozen"):
                return True
    if not bases & MODEL_BASES:
        return False
    values = (each.value for each in node.body if isinstance(each, ast.Assign | ast.AnnAssign))
    calls = (value for value in values if isinstance(value, ast.Call))
    given = [call.keywords for call in calls if ast.unparse(call.func).endswith("ConfigDict")]
    return any(map(_has_frozen, [node.keywords, *given]))


def _has_frozen(keywords: Sequence[ast.keyword]) -> bool:
    return any(
        each.arg == "frozen" and isinstance(each.value, ast.Constant) and each.value.value is True
        for each in keywords
    )


def _name_class(found: ClassDefinition) -> Typed:
    return Typed(ast.Name(found[0].name, ast.Load()), found[1])
