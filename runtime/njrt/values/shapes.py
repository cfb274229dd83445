"""Infer the shape of values (their types and their items' types) as a Python expression.

    infer_shape(["a", "b"])                   "list[str, ...]"          not empty; `list[str]` may be empty
    infer_shape({"name": "a", "age": 3})      "{'name': str, 'age': int}"
    infer_shape(Mail("a", urgent=False))      "Mail(sender=str, urgent=bool)"
    merge_shapes(["list[int, ...]", "list[str]", "None"])     "list[int | str] | None"

`object` is the shape of any value. Not detected: items after the first `_MAX_ITEMS`, nesting deeper than `_MAX_DEPTH`,
attributes in slots; classes are compared by name.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from njrt.outcome import UserValue
from njrt.values.introspection import is_exactly

_MAX_DEPTH = 3
_MAX_ITEMS = 1_000
"""Most items of a collection that are inspected."""
_MAX_KEYS = 12
_MAX_TYPES = 4
"""Most different shapes in one place; more become `object`."""
_BUILTIN_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "list": list,
    "set": set,
    "frozenset": frozenset,
    "dict": dict,
    "tuple": tuple,
    "float": (float, int),
    "complex": (complex, float, int),
}
ANY_SHAPE = "object"


def infer_shape(value: UserValue, depth: int = 0) -> str:
    """Return the shape of one value."""
    cls = type(value)
    name = "None" if value is None else cls.__qualname__.rpartition(".")[2]
    if is_exactly(value, list, set, frozenset) and depth < _MAX_DEPTH:
        return _infer_collection_shape(name, [value], depth)
    if cls is dict and depth < _MAX_DEPTH:
        if value and len(value) <= _MAX_KEYS and all(type(key) is str for key in value):
            fields = (f"{key!r}: {infer_shape(item, depth + 1)}" for key, item in value.items())
            return f"{{{', '.join(fields)}}}"
        return _infer_collection_shape(name, [value.keys(), value.values()], depth)
    if cls is tuple and 0 < len(value) <= _MAX_TYPES and depth < _MAX_DEPTH:
        return f"tuple[{', '.join(infer_shape(item, depth + 1) for item in value)}]"
    held = getattr(value, "__dict__", None)
    has_fields = cls.__module__ != "builtins" and not isinstance(value, type | enum.Enum)
    if type(held) is not dict or not has_fields or depth >= _MAX_DEPTH - 1:
        return name
    if not 0 < len(held) <= _MAX_KEYS or not all(map(str.isidentifier, held)):
        return name
    fields = (f"{key}={infer_shape(item, depth + 1)}" for key, item in held.items())
    return f"{name}({', '.join(fields)})"


def _infer_collection_shape(name: str, parts: Sequence[Iterable[UserValue]], depth: int) -> str:
    items = [list(islice(part, _MAX_ITEMS)) for part in parts]
    if not items[0]:
        return name
    inner = (merge_shapes(infer_shape(item, depth + 1) for item in part) for part in items)
    return f"{name}[{', '.join(inner)}, ...]"


def merge_shapes(shapes: Iterable[str]) -> str:
    """Return the shape of all values that have any of these shapes."""
    found = dict.fromkeys(part for shape in shapes for part in _split_union(shape))
    merged: dict[str, str] = {}  # by their kinds
    for shape in found:
        kind = _get_shape_kind(shape)
        merged[kind] = _merge_pair(merged[kind], shape) if kind in merged else shape
    if len(merged) > _MAX_TYPES:
        return ANY_SHAPE
    return " | ".join(sorted(merged.values(), key=lambda shape: (shape == "None", shape)))


def _split_union(shape: str) -> list[str]:
    match _parse_shape(shape):
        case ast.BinOp(left=left, right=right):
            return [*_split_union(ast.unparse(left)), *_split_union(ast.unparse(right))]
    return [shape]


def _get_shape_kind(shape: str) -> str:
    match _parse_shape(shape):
        case ast.Subscript(value=ast.Name(id=name)) | ast.Call(func=ast.Name(id=name)):
            return name
        case ast.Dict():
            return "dict"
        case node:
            return ast.unparse(node)


def _merge_pair(left: str, right: str) -> str:
    kind = _get_shape_kind(left)
    match _parse_shape(left), _parse_shape(right):
        case (ast.Call() | ast.Dict()) as one, (ast.Call() | ast.Dict()) as other:
            fields, more = _read_fields(one), _read_fields(other)
            merged = {
                key: merge_shapes([ast.unparse(fields[key]), ast.unparse(more[key])])
                for key in fields
                if key in more
            }
            if isinstance(one, ast.Call) and isinstance(other, ast.Call):
                return f"{kind}({', '.join(f'{key}={shape}' for key, shape in merged.items())})"
            if merged.keys() == fields.keys() == more.keys():
                return f"{{{', '.join(f'{key!r}: {shape}' for key, shape in merged.items())}}}"
        case ast.Subscript() as one, ast.Subscript() as other:
            inner = _list_item_shapes(one), _list_item_shapes(other)
            if len(inner[0]) == len(inner[1]):
                items = [merge_shapes(pair) for pair in zip(*inner, strict=True)]
                end = ", ..." if _is_nonempty(one) and _is_nonempty(other) else ""
                return f"{kind}[{', '.join(items)}{end}]"
        case (ast.Subscript() as one, ast.Name()) | (ast.Name(), ast.Subscript() as one):
            return f"{kind}[{', '.join(_list_item_shapes(one))}]"
    return kind


def _read_fields(node: ast.expr) -> dict[UserValue, ast.expr]:
    if isinstance(node, ast.Call):
        return {keyword.arg: keyword.value for keyword in node.keywords}
    assert isinstance(node, ast.Dict)
    pairs = zip(node.keys, node.values, strict=True)
    return {ast.literal_eval(key): value for key, value in pairs if key is not None}


def _list_elements(node: ast.Subscript) -> list[ast.expr]:
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def _is_nonempty(node: ast.Subscript) -> bool:
    last = _list_elements(node)[-1]
    return isinstance(last, ast.Constant) and last.value is ...


def _list_item_shapes(node: ast.Subscript) -> list[str]:
    elements = _list_elements(node)
    return [ast.unparse(item) for item in (elements[:-1] if _is_nonempty(node) else elements)]


@lru_cache(maxsize=512)
def _parse_shape(shape: str) -> ast.expr:
    return ast.parse(shape, mode="eval").body


def has_shape(value: UserValue, shape: str) -> bool:
    """Return whether a value has the shape."""
    return _matches_node(value, _parse_shape(shape))


def _matches_node(value: UserValue, node: ast.expr) -> bool:
    match node:
        case ast.BinOp(left=left, right=right):
            return _matches_node(value, left) or _matches_node(value, right)
        case ast.Constant(value=None):
            return value is None
        case ast.Name(id=name):
            return _is_instance_of_name(value, name)
        case ast.Dict():
            return type(value) is dict and all(
                key in value and _matches_node(value[key], field)
                for key, field in _read_fields(node).items()
            )
        case ast.Call(func=ast.Name(id=name)):
            absent = object()
            return _is_instance_of_name(value, name) and all(
                (held := getattr(value, key, absent)) is not absent and _matches_node(held, field)
                for key, field in _read_fields(node).items()
            )
        case ast.Subscript(value=ast.Name(id=name)):
            return _is_instance_of_name(value, name) and _has_item_shapes(value, name, node)
    raise ValueError(f"no shape: {ast.unparse(node)}")


def _has_item_shapes(value: UserValue, name: str, node: ast.Subscript) -> bool:
    """Return whether a collection's items have their shapes, and it is not empty if the shape requires items."""
    elements, is_nonempty = _list_elements(node), _is_nonempty(node)
    if name == "tuple":
        if is_nonempty:  # tuple[int, ...]: any number, as in annotations
            return all(_matches_node(item, elements[0]) for item in islice(value, _MAX_ITEMS))
        return len(value) == len(elements) and all(map(_matches_node, value, elements))
    if is_nonempty:
        if not value:
            return False
        elements = elements[:-1]
    parts = (value.keys(), value.values()) if name == "dict" else (value,)
    return all(
        _matches_node(item, element)
        for part, element in zip(parts, elements, strict=True)
        for item in islice(part, _MAX_ITEMS)
    )


def _is_instance_of_name(value: UserValue, name: str) -> bool:
    if name in _BUILTIN_TYPES:
        return isinstance(value, _BUILTIN_TYPES[name])
    return name == ANY_SHAPE or any(cls.__name__ == name for cls in type(value).__mro__)
