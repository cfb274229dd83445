"""Writes any value on one line of bounded length, the same in every process, without trusting it.

    [1, 2, 3]                  [1, 2, 3]
    list(range(100_000))       [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...]
    {"b", "a"}                 {'a', 'b'}
    Node("a", next=itself)     Node(name='a', next=Node(...))
    a broken __repr__          <Item whose __repr__ raised ValueError: no such row>

The work depends on the room and never on the size of the value: what surely does not fit is not even
tried. Of the program's own code only a `__repr__` written by hand is run, under a time limit.
"""

from __future__ import annotations

import array
import types
from collections import OrderedDict, deque
from collections.abc import Iterable
from enum import EnumMeta
from itertools import islice
from typing import Any

from njrt.outcome import UserValue
from njrt.rendering.libraries import foreign_writer
from njrt.rendering.scalars import SCALARS, of_subclass
from njrt.rendering.signatures import function_name, kind_of, type_text
from njrt.rendering.writer import MOST_ITEMS, Pen, TooLong, Writer, printable
from njrt.values.introspection import (
    Namespace,
    attribute_reader,
    attributes_of,
    class_name,
    innermost,
    is_a,
    is_exactly,
    is_own,
    lineage_of,
    member_of,
    module_name,
    namespace_of,
)

MOST_SORTED = 256
"""Elements up to which a set is put into an order; a larger one is shown by its length."""
_STRUCTURAL_MODULES = ("collections", "pydantic.main", "types")


def brief(value: UserValue, room: int) -> str:
    """Write `value` on one line of at most `room` characters, shortened if need be."""
    return Pen(writer_of).brief(value, room)


def whole(value: UserValue, room: int) -> str | None:
    """Write all of `value` on one line of at most `room` characters, or give None."""
    return Pen(writer_of).whole(value, room)


def _collection(cls: type, opening: str, closing: str) -> Writer:
    """Make the writer of a list-like class; an instance of a subclass is written as `Basket([...])`."""

    def write(pen: Pen, value: Any, room: int, exact: bool) -> str:
        head, tail = (
            (opening, closing)
            if type(value) is cls
            else (f"{class_name(type(value))}({opening}", f"{closing})")
        )
        length = cls.__len__(value)  # type: ignore[attr-defined]
        items = ((("", item)) for item in cls.__iter__(value))  # type: ignore[attr-defined]
        if cls is tuple and length == 1 and type(value) is tuple:
            tail = ",)"
        least = _least(cls.__iter__(value)) if exact and 3 * length < room else 1  # type: ignore[attr-defined]
        return pen.row(head, items, length, tail, room, exact, least)

    return write


def _least(values: Iterable[UserValue]) -> int:
    """How many characters each of these values takes at least: objects of one class have its name in common."""
    classes = {id(cls): cls for cls in map(type, values)}
    if len(classes) != 1:
        return 1
    (cls,) = classes.values()
    return len(class_name(cls)) + 2 if is_own(cls) and not writes_itself(cls) else 1


def _tuple(pen: Pen, value: tuple[Any, ...], room: int, exact: bool) -> str:
    fields = namespace_of(type(value)).get("_fields")
    if type(fields) is not tuple or len(fields) != tuple.__len__(value):
        return _PLAIN_TUPLE(pen, value, room, exact)
    parts = ((f"{name}=", item) for name, item in zip(fields, tuple.__iter__(value), strict=True))
    return pen.row(f"{class_name(type(value))}(", parts, len(fields), ")", room, exact)


_PLAIN_TUPLE = _collection(tuple, "(", ")")


def _set(cls: type) -> Writer:
    def write(pen: Pen, value: Any, room: int, exact: bool) -> str:
        length = cls.__len__(value)  # type: ignore[attr-defined]
        opening, closing = (
            ("{", "}") if type(value) is set else (f"{class_name(type(value))}({{", "})")
        )
        if length == 0:
            return f"{class_name(type(value))}()"
        if length > MOST_SORTED:
            if exact:
                raise TooLong
            return f"{opening}...{closing}"
        share = room if exact else max(24, room // 3)
        texts = in_order(pen, cls.__iter__(value), share, exact)  # type: ignore[attr-defined]
        left = room - len(opening) - len(closing)
        line = ", ".join(texts)
        if len(line) > left:
            if exact:
                raise TooLong
            kept = 0
            while (
                kept < min(len(texts), MOST_ITEMS)
                and sum(map(len, texts[: kept + 1])) + 2 * kept <= left - 5
            ):
                kept += 1
            line = ", ".join([*texts[:kept], "..."])
        return opening + line + closing

    return write


def in_order(pen: Pen, elements: Iterable[UserValue], room: int, exact: bool) -> list[str]:
    """Write the elements of a set, numbers by their value and all others by their text."""

    def order(element: UserValue) -> tuple[bool, float, str]:
        text = pen.inside(element, room, exact)
        is_number = is_exactly(element, int, float) and element == element
        return (not is_number, element if is_number else 0, text)

    return [text for *_, text in sorted(map(order, elements))]


def _dict(pen: Pen, value: dict[Any, Any], room: int, exact: bool) -> str:
    head, tail = ("{", "}") if type(value) is dict else (f"{class_name(type(value))}({{", "})")
    items = OrderedDict.items(value) if type(value) is OrderedDict else dict.items(value)
    length, pairs = dict.__len__(value), pen.labelled(items, room, exact)
    least = 3 + _least(dict.values(value)) if exact and 3 * length < room else 1
    return pen.row(head, pairs, length, tail, room, exact, least)


def _view(pen: Pen, value: Any, room: int, exact: bool) -> str:
    items = (("", item) for item in value)
    return pen.row(f"{class_name(type(value))}([", items, len(value), "])", room, exact)


def _array(pen: Pen, value: Any, room: int, exact: bool) -> str:
    length = array.array.__len__(value)
    items = (("", item) for item in array.array.__getitem__(value, slice(MOST_ITEMS)))
    if exact and length > MOST_ITEMS:
        raise TooLong
    return pen.row(f"array('{value.typecode}', [", items, length, "])", room, exact)


def _proxy(pen: Pen, value: Any, room: int, exact: bool) -> str:
    return "mappingproxy({...})"


def _bytearray(pen: Pen, value: bytearray, room: int, exact: bool) -> str:
    start = bytes(memoryview(value)[: room + 1])
    if exact and len(start) > room:
        raise TooLong
    return f"{class_name(type(value))}({SCALARS[bytes](pen, start, room - 11, exact)})"


def _class(pen: Pen, value: type, room: int, exact: bool) -> str:
    return f"<class {class_name(value)}>"


def _function(pen: Pen, value: Any, room: int, exact: bool) -> str:
    return f"<{kind_of(value)} {function_name(value)}>"


def _module(pen: Pen, value: types.ModuleType, room: int, exact: bool) -> str:
    return f"<module {printable(str(attributes_of(value).get('__name__', '?')))}>"


def _suspended(pen: Pen, value: Any, room: int, exact: bool) -> str:
    return f"<{class_name(type(value))} {value.__qualname__.rpartition('<locals>.')[2]}>"


def _exception(pen: Pen, value: BaseException, room: int, exact: bool) -> str:
    arguments: tuple[Any, ...] = BaseException.__dict__["args"].__get__(value)
    parts = [("", argument) for argument in arguments]
    parts += [
        (f"{name}=", held)
        for name, held in shown_attributes(value)
        if not any(held is a for a in arguments)
    ]
    return pen.row(f"{class_name(type(value))}(", parts, len(parts), ")", room, exact)


def _type_form(pen: Pen, value: Any, room: int, exact: bool) -> str:
    return type_text(value)


def _by_repr(pen: Pen, value: UserValue, room: int, exact: bool) -> str:
    """Write an object by its own `__repr__`."""
    text = pen.repr(value, room)
    if exact and len(text) > room:
        raise TooLong
    return text


def _by_attributes(pen: Pen, value: UserValue, room: int, exact: bool) -> str:
    """Write an object by what it holds: `Item(name='lamp', price=20)`, or `<list_iterator>`."""
    return _writer_by_attributes(type(value))(pen, value, room, exact)


def _writer_by_attributes(cls: type) -> Writer:
    """Make the writer of the objects of a class, by its fields if it declares some."""
    name, fields, read = class_name(cls), fields_shown(cls), attribute_reader(cls)
    nothing = None if is_own(cls) or fields is not None else f"<{name}>"

    def write(pen: Pen, value: UserValue, room: int, exact: bool) -> str:
        attributes = _in_order(read(value), fields)
        if nothing is not None and not attributes:
            return nothing
        parts = [(f"{attribute}=", held) for attribute, held in attributes]
        return pen.row(f"{name}(", parts, len(parts), ")", room, exact)

    return write


def writes_itself(cls: type) -> bool:
    """Whether a class has a `__repr__` that says more than its attributes, and is a plain method."""
    method = member_of(cls, "__repr__")
    if type(method) is types.WrapperDescriptorType:
        return method is not object.__dict__["__repr__"]
    if type(method) is not types.FunctionType:
        return False
    function = innermost(method)
    # Dataclasses and attrs compile their methods from text; the former wrap them against recursion.
    file = function.__code__.co_filename
    made_up = (file == "<string>" and function is not method) or file.startswith("<attrs")
    return not made_up and function.__globals__.get("__name__") not in _STRUCTURAL_MODULES


def shown_attributes(value: UserValue) -> list[tuple[str, UserValue]]:
    """The attributes by which an object is shown: its fields if it has some, else all, public ones first.

    Fields that their class keeps out of its `repr`, such as a password, are kept out here too.
    """
    return _in_order(attributes_of(value), fields_shown(type(value)))


def _in_order(held: Namespace, fields: list[str] | None) -> list[tuple[str, UserValue]]:
    if fields is not None:
        return [(name, held[name]) for name in fields if name in held]
    some = [(name, item) for name, item in islice(held.items(), 1000) if type(name) is str]
    own = [(name, item) for name, item in some if not name.endswith("__")]
    return sorted(own, key=lambda pair: pair[0].startswith("_"))


def fields_shown(cls: type) -> list[str] | None:
    """The names of the fields of a dataclass, a pydantic model or an attrs class; None for other classes."""
    fields = member_of(cls, "__dataclass_fields__") or member_of(cls, "__pydantic_fields__")
    if type(fields) is dict:
        return [name for name, field in fields.items() if getattr(field, "repr", True)]
    fields = member_of(cls, "__attrs_attrs__")
    if is_a(fields, tuple):
        return [field.name for field in fields if field.repr]
    return None


def _enum_member(pen: Pen, value: Any, room: int, exact: bool) -> str:
    held = attributes_of(value)
    name = held.get("_name_")
    if type(name) is str:
        return f"{class_name(type(value))}.{name}"
    return f"{class_name(type(value))}({pen.brief(held.get('_value_'), room)})"


WRITERS: dict[type, Writer] = {
    **{cls: of_subclass(cls) for cls in (int, float, complex, str, bytes)},
    list: _collection(list, "[", "]"),
    deque: _collection(deque, "deque([", "])"),
    tuple: _tuple,
    set: _set(set),
    frozenset: _set(frozenset),
    dict: _dict,
    bytearray: _bytearray,
    array.array: _array,
    type({}.keys()): _view,
    type({}.values()): _view,
    type({}.items()): _view,
    types.MappingProxyType: _proxy,
    type: _class,
    types.FunctionType: _function,
    types.MethodType: _function,
    types.BuiltinFunctionType: _function,
    types.MethodDescriptorType: _function,
    types.ModuleType: _module,
    types.GeneratorType: _suspended,
    types.CoroutineType: _suspended,
    types.AsyncGeneratorType: _suspended,
    types.GenericAlias: _type_form,
    types.UnionType: _type_form,
    types.SimpleNamespace: _by_attributes,
    BaseException: _exception,
}


def writer_of(cls: type) -> Writer:
    """Find who writes instances of `cls`: the writer of its nearest ancestor that has one."""
    if type(cls) is type and (scalar := SCALARS.get(cls)):
        return scalar
    if is_a(cls, EnumMeta):
        return _enum_member
    for base in lineage_of(cls)[:-1]:
        # Only plain classes are looked up: the metaclass of another may define __hash__ or __eq__.
        writer = WRITERS.get(base) if type(base) is type else None
        if writer := writer or foreign_writer(base):
            return writer
    if module_name(cls) in ("typing", "typing_extensions"):
        return _type_form
    return _instance_writer(cls)


def _instance_writer(cls: type) -> Writer:
    """Choose how to write an object: by its `__repr__` if one was written by hand, else by what it holds."""
    return _by_repr if writes_itself(cls) else _writer_by_attributes(cls)
