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

_DEEPEST = 3
_MOST_ITEMS = 1_000
"""Items of a collection that are looked at."""
_MOST_KEYS = 12
_MOST_TYPES = 4
"""Different shapes in one place that are told apart; of more, only that there is something."""
_COLLECTIONS: Mapping[str, type | tuple[type, ...]] = {
    "list": list,
    "set": set,
    "frozenset": frozenset,
    "dict": dict,
    "tuple": tuple,
}
_WIDER: Mapping[str, tuple[type, ...]] = {"float": (float, int), "complex": (complex, float, int)}
ANYTHING = "object"


def shape_of(value: UserValue, depth: int = 0) -> str:
    """Write down the shape of one value."""
    cls = type(value)
    name = "None" if value is None else cls.__qualname__.rpartition(".")[2]
    if cls in (list, set, frozenset) and depth < _DEEPEST:
        return _collection(name, [value], depth)
    if cls is dict and depth < _DEEPEST:
        if value and len(value) <= _MOST_KEYS and all(type(key) is str for key in value):
            fields = (f"{key!r}: {shape_of(held, depth + 1)}" for key, held in value.items())
            return f"{{{', '.join(fields)}}}"
        return _collection(name, [value.keys(), value.values()], depth)
    if cls is tuple and 0 < len(value) <= _MOST_TYPES and depth < _DEEPEST:
        return f"tuple[{', '.join(shape_of(item, depth + 1) for item in value)}]"
    held = getattr(value, "__dict__", None)
    is_told_whole = cls.__module__ == "builtins" or isinstance(value, type | enum.Enum)
    if type(held) is not dict or is_told_whole:
        return name
    if depth < _DEEPEST - 1 and 0 < len(held) <= _MOST_KEYS and all(map(str.isidentifier, held)):
        fields = (f"{key}={shape_of(each, depth + 1)}" for key, each in held.items())
        return f"{name}({', '.join(fields)})"
    return name


def _collection(name: str, parts: Sequence[Iterable[UserValue]], depth: int) -> str:
    looked = [list(islice(part, _MOST_ITEMS)) for part in parts]
    if not looked[0]:
        return name
    inner = [joined(shape_of(item, depth + 1) for item in items) for items in looked]
    return f"{name}[{', '.join(inner)}, ...]"


def joined(shapes: Iterable[str]) -> str:
    """The shape of all that has one of these shapes."""
    found = list(dict.fromkeys(each for shape in shapes for each in _alternatives(shape)))
    if len(found) == 1:
        return found[0]
    merged: list[str] = []
    for shape in found:
        at = next((i for i, each in enumerate(merged) if _head(each) == _head(shape)), None)
        if at is None:
            merged.append(shape)
        else:
            merged[at] = _merged(merged[at], shape)
    if len(merged) > _MOST_TYPES:
        return ANYTHING
    return " | ".join(sorted(merged, key=lambda each: (each == "None", each)))


def _alternatives(shape: str) -> list[str]:
    match _parsed(shape):
        case ast.BinOp(left=left, right=right):
            return [*_alternatives(ast.unparse(left)), *_alternatives(ast.unparse(right))]
    return [shape]


def _head(shape: str) -> str:
    match _parsed(shape):
        case ast.Subscript(value=ast.Name(id=name)) | ast.Call(func=ast.Name(id=name)):
            return name
        case ast.Dict():
            return "dict"
        case node:
            return ast.unparse(node)


def _merged(left: str, right: str) -> str:
    """Two shapes of the same kind as one."""
    match _parsed(left), _parsed(right):
        case ast.Call(keywords=first), ast.Call(keywords=second):
            shapes = [
                {str(each.arg): ast.unparse(each.value) for each in one} for one in (first, second)
            ]
            both = [name for name in shapes[0] if name in shapes[1]]
            fields = (f"{name}={joined(each[name] for each in shapes)}" for name in both)
            return f"{_head(left)}({', '.join(fields)})"
        case ast.Dict() as first, ast.Dict() as second:
            tables = [_fields(first), _fields(second)]
            if tables[0].keys() == tables[1].keys():
                fields = (f"{key!r}: {joined(each[key] for each in tables)}" for key in tables[0])
                return f"{{{', '.join(fields)}}}"
        case ast.Subscript() as first, ast.Subscript() as second:
            inner = [_items(first), _items(second)]
            if len(inner[0]) == len(inner[1]):
                items = [joined(pair) for pair in zip(*inner, strict=True)]
                end = ", ..." if _is_filled(first) and _is_filled(second) else ""
                return f"{_head(left)}[{', '.join(items)}{end}]"
        case ast.Subscript() as one, ast.Name():
            return f"{_head(left)}[{', '.join(_items(one))}]"
        case ast.Name(), ast.Subscript() as one:
            return f"{_head(left)}[{', '.join(_items(one))}]"
    return _head(left)


def _fields(node: ast.Dict) -> dict[UserValue, str]:
    return {
        ast.literal_eval(key): ast.unparse(value)
        for key, value in zip(node.keys, node.values, strict=True)
        if key is not None
    }


def _elements(node: ast.Subscript) -> list[ast.expr]:
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def _is_filled(node: ast.Subscript) -> bool:
    last = _elements(node)[-1]
    return isinstance(last, ast.Constant) and last.value is ...


def _items(node: ast.Subscript) -> list[str]:
    elements = _elements(node)
    return [ast.unparse(each) for each in (elements[:-1] if _is_filled(node) else elements)]


@lru_cache(maxsize=512)
def _parsed(shape: str) -> ast.expr:
    return ast.parse(shape, mode="eval").body


def fits(value: UserValue, shape: str) -> bool:
    """Whether a value has the shape."""
    return _fits(value, _parsed(shape))


def _fits(value: UserValue, node: ast.expr) -> bool:
    match node:
        case ast.BinOp(left=left, right=right):
            return _fits(value, left) or _fits(value, right)
        case ast.Constant(value=None):
            return value is None
        case ast.Name(id=name):
            return _is_a(value, name)
        case ast.Dict():
            return type(value) is dict and all(
                key in value and _fits(value[key], held)
                for key, held in zip(map(_key, node.keys), node.values, strict=True)
            )
        case ast.Call(func=ast.Name(id=name), keywords=keywords):
            absent = object()
            return _is_a(value, name) and all(
                (held := getattr(value, str(each.arg), absent)) is not absent
                and _fits(held, each.value)
                for each in keywords
            )
        case ast.Subscript(value=ast.Name(id=name)):
            return _is_a(value, name) and _are_fit(value, name, node)
    raise ValueError(f"no shape: {ast.unparse(node)}")


def _key(node: ast.expr | None) -> UserValue:
    assert isinstance(node, ast.Constant)
    return node.value


def _are_fit(value: UserValue, name: str, node: ast.Subscript) -> bool:
    """Whether the items of a collection have their shapes, and are there if they must be."""
    elements, is_filled = _elements(node), _is_filled(node)
    if name == "tuple":
        if is_filled:  # tuple[int, ...], as Python has it: any number
            return all(_fits(item, elements[0]) for item in islice(value, _MOST_ITEMS))
        return len(value) == len(elements) and all(map(_fits, value, elements))
    if is_filled:
        if not value:
            return False
        elements = elements[:-1]
    parts = (value.keys(), value.values()) if name == "dict" else (value,)
    return all(
        _fits(item, element)
        for part, element in zip(parts, elements, strict=True)
        for item in islice(part, _MOST_ITEMS)
    )


def _is_a(value: UserValue, name: str) -> bool:
    if name == ANYTHING:
        return True
    if name in _WIDER:
        return isinstance(value, _WIDER[name])
    if name in _COLLECTIONS:
        return isinstance(value, _COLLECTIONS[name])
    return any(cls.__name__ == name for cls in type(value).__mro__)
