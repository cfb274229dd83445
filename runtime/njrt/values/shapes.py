"""The shape of values: their types and what they are made of, as a Python expression.

    shape_of(3)                            "int"
    shape_of(["a", "b"])                   "list[str, ...]"          not empty; `list[str]` may be
    shape_of({14: {3, 8}, 3: set()})       "dict[int, set[int], ...]"
    shape_of({"name": "a", "age": 3})      "{'name': str, 'age': int}"
    shape_of(Mail("a", urgent=False))      "Mail(sender=str, urgent=bool)"

    joined(["list[int, ...]", "list[str]", "None"])       "list[int | str] | None"
    fits(value, "list[int | str] | None")                 True or False

A guard that states a shape is true for values like those that the code was tried with. `object` is any value.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from njrt.outcome import UserValue

_MAX_DEPTH = 3
_MAX_ITEMS = 1_000
"""Items of a collection that are looked at."""
_MAX_KEYS = 12
_MAX_TYPES = 4
"""Different shapes in one place that are told apart; of more, only that there is something."""
_COLLECTION_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "list": list,
    "set": set,
    "frozenset": frozenset,
    "dict": dict,
    "tuple": tuple,
}
_ACCEPTED_NUMBERS: Mapping[str, tuple[type, ...]] = {
    "float": (float, int),
    "complex": (complex, float, int),
}
ANY_SHAPE = "object"


def infer_shape(value: UserValue, depth: int = 0) -> str:
    """Write down the shape of one value."""
    cls = type(value)
    name = "None" if value is None else cls.__qualname__.rpartition(".")[2]
    if cls in (list, set, frozenset) and depth < _MAX_DEPTH:
        return _infer_collection_shape(name, [value], depth)
    if cls is dict and depth < _MAX_DEPTH:
        if value and len(value) <= _MAX_KEYS and all(type(key) is str for key in value):
            fields = (f"{key!r}: {infer_shape(held, depth + 1)}" for key, held in value.items())
            return f"{{{', '.join(fields)}}}"
        return _infer_collection_shape(name, [value.keys(), value.values()], depth)
    if cls is tuple and 0 < len(value) <= _MAX_TYPES and depth < _MAX_DEPTH:
        return f"tuple[{', '.join(infer_shape(item, depth + 1) for item in value)}]"
    held = getattr(value, "__dict__", None)
    is_told_whole = cls.__module__ == "builtins" or isinstance(value, type | enum.Enum)
    if type(held) is not dict or is_told_whole:
        return name
    if depth < _MAX_DEPTH - 1 and 0 < len(held) <= _MAX_KEYS and all(map(str.isidentifier, held)):
        fields = (f"{key}={infer_shape(each, depth + 1)}" for key, each in held.items())
        return f"{name}({', '.join(fields)})"
    return name


def _infer_collection_shape(name: str, parts: Sequence[Iterable[UserValue]], depth: int) -> str:
    looked = [list(islice(part, _MAX_ITEMS)) for part in parts]
    if not looked[0]:
        return name
    inner = [merge_shapes(infer_shape(item, depth + 1) for item in items) for items in looked]
    return f"{name}[{', '.join(inner)}, ...]"


def merge_shapes(shapes: Iterable[str]) -> str:
    """The shape of all that has one of these shapes."""
    found = list(dict.fromkeys(each for shape in shapes for each in _split_union(shape)))
    if len(found) == 1:
        return found[0]
    merged: list[str] = []
    for shape in found:
        at = next(
            (i for i, each in enumerate(merged) if _get_shape_kind(each) == _get_shape_kind(shape)),
            None,
        )
        if at is None:
            merged.append(shape)
        else:
            merged[at] = _merge_pair(merged[at], shape)
    if len(merged) > _MAX_TYPES:
        return ANY_SHAPE
    return " | ".join(sorted(merged, key=lambda each: (each == "None", each)))


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
    """Two shapes of the same kind as one."""
    match _parse_shape(left), _parse_shape(right):
        case ast.Call(keywords=first), ast.Call(keywords=second):
            shapes = [
                {str(each.arg): ast.unparse(each.value) for each in one} for one in (first, second)
            ]
            both = [name for name in shapes[0] if name in shapes[1]]
            fields = (f"{name}={merge_shapes(each[name] for each in shapes)}" for name in both)
            return f"{_get_shape_kind(left)}({', '.join(fields)})"
        case ast.Dict() as first, ast.Dict() as second:
            tables = [_parse_fields(first), _parse_fields(second)]
            if tables[0].keys() == tables[1].keys():
                fields = (
                    f"{key!r}: {merge_shapes(each[key] for each in tables)}" for key in tables[0]
                )
                return f"{{{', '.join(fields)}}}"
        case ast.Subscript() as first, ast.Subscript() as second:
            inner = [_list_item_shapes(first), _list_item_shapes(second)]
            if len(inner[0]) == len(inner[1]):
                items = [merge_shapes(pair) for pair in zip(*inner, strict=True)]
                end = ", ..." if _is_nonempty(first) and _is_nonempty(second) else ""
                return f"{_get_shape_kind(left)}[{', '.join(items)}{end}]"
        case ast.Subscript() as one, ast.Name():
            return f"{_get_shape_kind(left)}[{', '.join(_list_item_shapes(one))}]"
        case ast.Name(), ast.Subscript() as one:
            return f"{_get_shape_kind(left)}[{', '.join(_list_item_shapes(one))}]"
    return _get_shape_kind(left)


def _parse_fields(node: ast.Dict) -> dict[UserValue, str]:
    return {
        ast.literal_eval(key): ast.unparse(value)
        for key, value in zip(node.keys, node.values, strict=True)
        if key is not None
    }


def _list_elements(node: ast.Subscript) -> list[ast.expr]:
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def _is_nonempty(node: ast.Subscript) -> bool:
    last = _list_elements(node)[-1]
    return isinstance(last, ast.Constant) and last.value is ...


def _list_item_shapes(node: ast.Subscript) -> list[str]:
    elements = _list_elements(node)
    return [ast.unparse(each) for each in (elements[:-1] if _is_nonempty(node) else elements)]


@lru_cache(maxsize=512)
def _parse_shape(shape: str) -> ast.expr:
    return ast.parse(shape, mode="eval").body


def has_shape(value: UserValue, shape: str) -> bool:
    """Whether a value has the shape."""
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
                key in value and _matches_node(value[key], held)
                for key, held in zip(map(_get_key, node.keys), node.values, strict=True)
            )
        case ast.Call(func=ast.Name(id=name), keywords=keywords):
            absent = object()
            return _is_instance_of_name(value, name) and all(
                (held := getattr(value, str(each.arg), absent)) is not absent
                and _matches_node(held, each.value)
                for each in keywords
            )
        case ast.Subscript(value=ast.Name(id=name)):
            return _is_instance_of_name(value, name) and _has_item_shapes(value, name, node)
    raise ValueError(f"no shape: {ast.unparse(node)}")


def _get_key(node: ast.expr | None) -> UserValue:
    assert isinstance(node, ast.Constant)
    return node.value


def _has_item_shapes(value: UserValue, name: str, node: ast.Subscript) -> bool:
    """Whether the items of a collection have their shapes, and are there if they must be."""
    elements, is_filled = _list_elements(node), _is_nonempty(node)
    if name == "tuple":
        if is_filled:  # tuple[int, ...], as Python has it: any number
            return all(_matches_node(item, elements[0]) for item in islice(value, _MAX_ITEMS))
        return len(value) == len(elements) and all(map(_matches_node, value, elements))
    if is_filled:
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
    if name == ANY_SHAPE:
        return True
    if name in _ACCEPTED_NUMBERS:
        return isinstance(value, _ACCEPTED_NUMBERS[name])
    if name in _COLLECTION_TYPES:
        return isinstance(value, _COLLECTION_TYPES[name])
    return any(cls.__name__ == name for cls in type(value).__mro__)
