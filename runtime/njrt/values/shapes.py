"""Compare values with a shape: their types and their items' types, as a Python expression.

    has_shape(["a", "b"], "list[str, ...]")                           True; a `list[str]` may be empty
    has_shape({"name": "a", "age": 3}, "{'name': str, 'age': int}")   True
    has_shape(Mail("a", urgent=False), "Mail(sender=str)")            True

`object` is the shape of any value. Items after the first `_MAX_ITEMS` are not looked at; classes are compared by name.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice

from njrt.outcome import UserValue

_MAX_ITEMS = 1_000
"""Most items of a collection that are inspected."""
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
