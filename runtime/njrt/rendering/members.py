"""Writes what can be done with the objects of a class: constructor, fields, methods, properties, members.

    class Item:                                    Item: An article of the shop.
        '''An article of the shop.'''              Item(name: str, price: int = 0)
        def __init__(self, name: str, price=0)     Item.discount(percent: float) -> None  # Lower the price.
        def discount(self, percent: float)         Item.total -> int  (property)
        total = property(...)

For a reader who has the object and wants to use it: names that start with an underscore are left out, and
so is what Python's own classes and those of the schema libraries bring along.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable, Iterator
from enum import EnumMeta
from itertools import islice
from typing import Any

from njrt.rendering.signatures import annotations_of, first_line, kind_of, signature_text, type_text
from njrt.rendering.writer import Pen
from njrt.values.introspection import (
    Namespace,
    attributes_of,
    class_name,
    is_a,
    is_exactly,
    is_own,
    lineage_of,
    member_of,
    members_of,
    namespace_of,
)

MOST_MEMBERS = 100
_DEFAULT_CHARS = 40
_PROTOCOLS = {
    "__call__": "call",
    "__len__": "len()",
    "__iter__": "iteration",
    "__aiter__": "async iteration",
    "__contains__": "in",
    "__getitem__": "[key]",
    "__setitem__": "[key] = value",
    "__delitem__": "del [key]",
    "__enter__": "with",
    "__aenter__": "async with",
    "__lt__": "order",
    "__add__": "+",
    "__or__": "|",
}


def member_lines(classes: Iterable[type], pen: Pen, *, own: bool) -> Iterator[str]:
    """What the objects of each class offer: its docstring, enum members, methods and properties.

    `own` says that they are those of the value itself, so that `.name` is clear without the class.
    """
    for cls in classes:
        yield from _doc_line(cls)
        if is_a(cls, EnumMeta):
            yield _enum_line(cls, pen)
        prefix = "" if own else class_name(cls)
        yield from _method_lines(cls, pen, prefix)


def class_lines(cls: type, pen: Pen) -> Iterator[str]:
    """What a class offers: all of the above, its constructor or fields, and its constants."""
    yield from _doc_line(cls)
    if is_a(cls, EnumMeta):
        yield _enum_line(cls, pen)
    else:
        yield from _constructor_lines(cls, pen)
        yield from _constant_lines(cls, pen)
    yield from _method_lines(cls, pen, "")


def module_lines(module: types.ModuleType, pen: Pen) -> Iterator[str]:
    """The public functions and classes that one of the program's own modules defines."""
    names = attributes_of(module)
    name = names.get("__name__")
    if type(name) is not str or name.partition(".")[0] in sys.stdlib_module_names:
        return
    for public, value in list(islice(names.items(), MOST_MEMBERS)):
        if type(public) is not str or public.startswith("_"):
            continue
        if type(value) is types.FunctionType and value.__module__ == name:
            yield f".{public}{_signature(value, pen)}{_comment(value)}"
        elif is_a(value, type) and namespace_of(value).get("__module__") == name:
            yield f".{public}: class{_comment(namespace_of(value).get('__doc__'))}"


def _doc_line(cls: type) -> Iterator[str]:
    doc = first_line(namespace_of(cls).get("__doc__"))
    # A dataclass without a docstring has its signature in its place, and an enum may have a stock phrase.
    if doc and not doc.startswith(f"{class_name(cls).rpartition('.')[2]}(") and is_own(cls):
        yield f"{class_name(cls)}: {doc}"


def _enum_line(cls: type, pen: Pen) -> str:
    members: Namespace = namespace_of(cls).get("_member_map_") or {}
    shown = [
        f"{name} = {pen.brief(attributes_of(member).get('_value_'), _DEFAULT_CHARS)}"
        for name, member in islice(members.items(), MOST_MEMBERS)
    ]
    more = ", ..." if len(members) > MOST_MEMBERS else ""
    return f"{class_name(cls)} members: {', '.join(shown)}{more}"


def _constructor_lines(cls: type, pen: Pen) -> Iterator[str]:
    """How an object of the class is made; its fields, where they say more than the constructor."""
    name, fields = class_name(cls), member_of(cls, "__pydantic_fields__")
    if type(fields) is dict:
        yield f"{name}({', '.join(_field(key, field, pen) for key, field in fields.items())})"
        return
    if type(namespace_of(cls).get("__total__")) is bool:  # a TypedDict
        yield f"keys: {', '.join(_annotated(cls))}"
        return
    if type(namespace_of(cls).get("_fields")) is tuple:  # a named tuple
        yield f"{name}({', '.join(_annotated(cls) or namespace_of(cls)['_fields'])})"
        return
    constructor = member_of(cls, "__init__")
    if type(constructor) is not types.FunctionType:
        constructor = member_of(cls, "__new__")
        constructor = constructor.__func__ if type(constructor) is staticmethod else constructor
    if type(constructor) is types.FunctionType:
        yield f"{name}{_signature(constructor, pen, bound=True).removesuffix(' -> None')}"


def _annotated(cls: type) -> list[str]:
    """The annotated names of a class and its ancestors, `title: str`."""
    optional = namespace_of(cls).get("__optional_keys__") or ()
    return [
        f"{name}: {type_text(annotation)}" + (" (optional)" if name in optional else "")
        for base in reversed(lineage_of(cls))
        for name, annotation in annotations_of(base).items()
    ]


def _field(name: str, field: Any, pen: Pen) -> str:
    """A field of a pydantic model: type, default, constraints."""
    text = f"{name}: {type_text(field.annotation)}"
    if field.default_factory is not None:
        text += " = ..."
    elif not field.is_required():
        text += f" = {pen.brief(field.default, _DEFAULT_CHARS)}"
    notes = [pen.brief(constraint, _DEFAULT_CHARS) for constraint in field.metadata]
    notes += [repr(first_line(field.description))] if field.description else []
    return text + (f" ({', '.join(notes)})" if notes else "")


def _constant_lines(cls: type, pen: Pen) -> Iterator[str]:
    annotated = annotations_of(cls)
    for name, value in list(islice(namespace_of(cls).items(), MOST_MEMBERS)):
        if name.startswith(("_", "model_")) or name in annotated or _is_offered(value):
            continue
        if is_exactly(value, int, float, str, bool, bytes, list, tuple, dict, set, frozenset):
            yield f".{name} = {pen.brief(value, 2 * _DEFAULT_CHARS)}"


def _is_offered(member: Any) -> bool:
    return is_exactly(member, types.FunctionType, staticmethod, classmethod, property)


def _method_lines(cls: type, pen: Pen, owner: str) -> Iterator[str]:
    """One line for each public method and property, then one for the operators that work."""
    members = members_of(cls)
    for name, member in islice(members.items(), 10 * MOST_MEMBERS):
        if not name.startswith("_") and (line := _member_line(f"{owner}.{name}", member, pen)):
            yield line
    supported = [
        word for name, word in _PROTOCOLS.items() if type(members.get(name)) is types.FunctionType
    ]
    if supported and not is_a(cls, EnumMeta):
        yield f"supports {', '.join(supported)}"


def _member_line(name: str, member: Any, pen: Pen) -> str:
    if type(member) is property:
        getter = member.fget
        returned = (
            annotations_of(getter).get("return") if type(getter) is types.FunctionType else None
        )
        arrow = f" -> {type_text(returned)}" if returned is not None else ""
        return f"{name}{arrow}  (property){_comment(getter)}"
    if type(member) is staticmethod:
        return f"{name}{_signature(member.__func__, pen)}{_comment(member.__func__)}"
    if type(member) is classmethod:
        return f"{name}{_signature(member.__func__, pen, bound=True)}{_comment(member.__func__)}"
    if type(member) is types.FunctionType:
        prefix = "async " if kind_of(member).startswith("async") else ""
        return f"{prefix}{name}{_signature(member, pen, bound=True)}{_comment(member)}"
    return ""


def _signature(function: Any, pen: Pen, *, bound: bool = False) -> str:
    return signature_text(
        function, lambda default: pen.brief(default, _DEFAULT_CHARS), skip_first=bound
    )


def _comment(documented: Any) -> str:
    """The first line of a docstring as a comment at the end of a line."""
    doc = documented.__doc__ if type(documented) is types.FunctionType else documented
    line = first_line(doc)
    return f"  # {line}" if line else ""
