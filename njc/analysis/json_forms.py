"""Which types nobody can change a value through, and which of them JSON carries.

    is_read_only(Sequence[str])                 True        is_read_only(list[str])                 False
    has_json_form(dict[str, datetime.date])     True        has_json_form(list[Callable])           False

Not seen: classes of other modules, which count as changeable and without a JSON form, as do aliases that refer to
themselves.
"""

from __future__ import annotations

import ast

from njc.analysis.types import SCALARS, Typed, TypeDefinitions

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
_ENUM_BASES = frozenset(
    f"enum.{name}" for name in ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag")
)
_DATA_BASES = frozenset(
    {"typing.NamedTuple", "typing.TypedDict", "pydantic.BaseModel", "pydantic.main.BaseModel"}
)


def is_read_only(typed: Typed, types: TypeDefinitions) -> bool:
    """Whether nobody can change a value of a type through it, as far as its outermost level goes."""
    parts = types.union_parts(types.expand(typed))
    return all(_is_part_read_only(part, types) for part in parts)


def _is_part_read_only(typed: Typed, types: TypeDefinitions) -> bool:
    name = types.name_of(typed)
    if name in SCALARS or name in _READ_ONLY_CONTAINERS or name == "typing.Literal":
        return True
    found = types.class_of_type(typed)
    if found is None:
        return False
    bases = set(types.bases_of(found))
    return bool(bases & _ENUM_BASES) or "typing.NamedTuple" in bases or _is_frozen(found[0])


def has_json_form(typed: Typed, types: TypeDefinitions, seen: frozenset[str] = frozenset()) -> bool:
    """Whether JSON carries all values of a type; `seen` are the classes and aliases that it stands in."""
    expanded = types.expand(typed)
    if expanded is not typed:
        alias = str(typed)
        if alias in seen and types.class_of_type(expanded) is None:
            return False
        seen |= {alias}
    parts = types.union_parts(expanded)
    return all(_has_part_json_form(part, types, seen) for part in parts)


def _has_part_json_form(typed: Typed, types: TypeDefinitions, seen: frozenset[str]) -> bool:
    name = types.name_of(typed)
    if name in SCALARS:
        return name not in _WITHOUT_JSON
    if name == "typing.Literal":
        return True
    match typed.annotation:
        case ast.Subscript(slice=inner) if name in _JSON_CONTAINERS:
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            parts = [
                part for part in parts if not (isinstance(part, ast.Constant) and part.value is ...)
            ]
            return all(has_json_form(typed.inside(part), types, seen) for part in parts)
    found = types.class_of_type(typed)
    if found is None:
        return False
    if found[0].name in seen:
        return True
    bases = set(types.bases_of(found))
    if bases & _ENUM_BASES:
        return True
    if not (bases & _DATA_BASES or _is_dataclass(found[0])):
        return False
    fields = list(types.fields_of(found))
    return bool(fields) and all(
        has_json_form(field, types, seen | {found[0].name}) for _, field in fields
    )


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
