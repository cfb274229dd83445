"""What the model is shown of the program's values: type and value, by structure, within a budget.

    describe("items", items, 1000)

    items: list[Item], 3 items = [Item(name='lamp', price=20), ...]
        Item: An article of the shop.
        Item.discount(percent: float) -> None  # Lower the price.

    show(1 + 2, 1000)      3

The same state gives the same text in every process. Nothing of the program's own is evaluated but a
`__repr__` written by hand: no property, no descriptor, no `__getattr__`, no `__len__`; and no failure of
such a `__repr__` leaves this module. The work depends on the budget, never on the size of the value.
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from enum import EnumMeta
from itertools import islice
from typing import Any

from njrt.outcome import UserValue
from njrt.rendering.libraries import foreign_kind, foreign_title
from njrt.rendering.members import class_lines, member_lines, module_lines
from njrt.rendering.one_line import shown_attributes, writer_of, writes_itself
from njrt.rendering.signatures import first_line, function_name, kind_of, signature_text, type_text
from njrt.rendering.writer import Pen, clip, printable
from njrt.values.introspection import (
    attributes_of,
    bases_of,
    class_name,
    is_a,
    is_exactly,
    is_own,
    lineage_of,
    module_name,
    namespace_of,
)

TYPED_ITEMS = 256
"""Items up to which a collection's type says what its items are; that of a longer one says less."""
_MOST_TYPES = 3
_INDENT = "    "
_COUNTED: tuple[tuple[type, str], ...] = (
    (dict, "key"),
    (list, "item"),
    (tuple, "item"),
    (set, "element"),
    (frozenset, "element"),
    (deque, "item"),
)
_FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType)


@dataclass(frozen=True, slots=True)
class Portrait:
    """What is known of a value: `title` is its type and size, `text` itself, `lines` its structure."""

    title: str
    text: str
    lines: Iterator[str]
    is_whole: bool


def describe(name: str, value: UserValue, budget: int = 1000) -> str:
    """Describe a variable: its name, type and value, then, indented, what is worth knowing of its type.

    The text has at most `budget` characters (but for a budget that not even name and type fit into).
    """
    portrait = _portrait(value, max(0, budget - len(name) - 2))
    text = f" = {portrait.text}" if portrait.text and value is not None else ""
    return _within(budget, f"{name}: {portrait.title}{text}", portrait.lines)


def show(value: UserValue, budget: int = 1000) -> str:
    """Write the result of an expression: its value alone if all of it fits, else as `describe` does."""
    portrait = _portrait(value, budget)
    if portrait.is_whole:
        return clip(printable(portrait.text), budget)
    text = f" = {portrait.text}" if portrait.text else ""
    return _within(budget, portrait.title + text, portrait.lines)


def _within(budget: int, first: str, lines: Iterator[str]) -> str:
    """Join the lines that fit; the last one says when there are more."""
    written = [clip(printable(first), budget)]
    left = budget - len(written[0])
    try:
        for line in lines:
            line = printable(line)
            if len(_INDENT) + len(line) + 1 > left - len(_MORE):
                written += [_MORE[1:]] if left >= len(_MORE) else []
                break
            written.append(_INDENT + line)
            left -= len(_INDENT) + len(line) + 1
    except Exception:  # a class that is not what it seems: what is known of it has been said
        pass
    return "\n".join(written)


_MORE = f"\n{_INDENT}..."


def _portrait(value: UserValue, room: int) -> Portrait:
    try:
        return _sketch(value, room, Pen(writer_of))
    except Exception as error:
        # Beyond what was thought of: the program must not break by being looked at.
        name = class_name(type(value))
        return Portrait(name, f"<cannot be shown: {class_name(type(error))}>", iter(()), False)


def _sketch(value: UserValue, room: int, pen: Pen) -> Portrait:
    """Find out what kind of thing a value is, and how such a thing is shown."""
    cls = type(value)
    if is_a(value, type):
        return Portrait(_class_title(value), "", class_lines(value, pen), False)
    if is_exactly(value, *_FUNCTIONS):
        return Portrait(_function_title(value, pen), "", _doc_lines(value), False)
    if is_a(value, types.ModuleType):
        title = f"module {attributes_of(value).get('__name__', '?')}"
        return Portrait(title, "", module_lines(value, pen), False)
    if module_name(cls) in ("typing", "types") and class_name(cls).endswith(
        ("Alias", "Union", "UnionType")
    ):
        return Portrait(f"type {type_text(value)}", "", iter(()), False)
    title = _title(value)
    lines = member_lines(_explained(value), pen, own=is_own(cls))
    text = pen.whole(value, room - len(title) - 3)
    if text is not None:
        return Portrait(title, text, lines, True)
    if is_own(cls) and not _length(value):
        return _opened(value, title, room, pen)
    # What follows of the structure should find some room too, where there is any to follow.
    share = room - len(title) - 3
    return Portrait(
        title, pen.brief(value, share if not _explained(value) else share * 2 // 3), lines, False
    )


def _opened(value: UserValue, title: str, room: int, pen: Pen) -> Portrait:
    """Show an object that does not fit on a line attribute by attribute."""
    attributes = shown_attributes(value)

    def lines() -> Iterator[str]:
        left = room * 3 // 4
        for number, (name, held) in enumerate(attributes):
            head = f".{name}: {_title(held)}"
            share = max(60, left // min(8, len(attributes) - number)) - len(head) - 3
            line = f"{head} = {pen.brief(held, share)}"
            left -= len(line)
            yield line
        yield from member_lines([type(value)], pen, own=True)

    text = pen.brief(value, room // 4) if writes_itself(type(value)) else ""
    return Portrait(title, text, lines(), False)


def _title(value: UserValue) -> str:
    """The type of a value, and how much there is of it."""
    for base in lineage_of(type(value)):
        if kind := foreign_kind(base):
            return foreign_title(value, kind)
    length = _length(value)
    return _type_of(value) + (f", {length}" if length else "")


def _length(value: UserValue) -> str:
    for kind, noun in _COUNTED:
        if is_a(value, kind):
            if "_fields" in namespace_of(type(value)):
                return ""  # a named tuple is more of an object than of a collection
            length = kind.__len__(value)  # type: ignore[attr-defined]
            return f"{length:,} {noun}" + ("" if length == 1 else "s")
    return ""


def _type_of(value: UserValue) -> str:
    """The type of a value as an annotation would say it: `list[int]`, `dict[str, Item]`, `Order`."""
    cls = type(value)
    name = class_name(cls)
    if value is None:
        return "None"
    if cls is tuple and 0 < len(value) <= _MOST_TYPES + 1:
        return f"tuple[{', '.join(class_name(type(item)) for item in value)}]"
    if cls is dict:
        keys, values = _types_in(value.keys()), _types_in(value.values())
        return f"dict[{keys}, {values}]" if keys and values else name
    if is_exactly(value, list, set, frozenset, deque, tuple):
        items = _types_in(value)
        return (f"tuple[{items}, ...]" if cls is tuple else f"{name}[{items}]") if items else name
    return name


def _types_in(items: Any) -> str:
    """The few types of all items of a collection, as a union; an empty string if they are many."""
    if not 0 < len(items) <= TYPED_ITEMS:
        return ""
    # Classes are told apart by identity: a metaclass may define __hash__ or __eq__.
    classes = {id(cls): cls for cls in map(type, items)}
    if len(classes) > _MOST_TYPES:
        return ""
    return " | ".join(
        sorted("None" if cls is type(None) else class_name(cls) for cls in classes.values())
    )


def _explained(value: UserValue) -> list[type]:
    """The program's own classes that a reader of this value should know: its own, or those of its items."""
    if is_own(type(value)) or is_a(type(value), EnumMeta):
        return [type(value)]
    if type(value) is dict:
        items: Any = value.values()
    elif is_exactly(value, list, tuple, deque):
        items = value
    else:
        return []
    classes = {id(type(item)): type(item) for item in islice(items, 8)}
    return [cls for cls in classes.values() if is_own(cls) or is_a(cls, EnumMeta)][:_MOST_TYPES]


def _class_title(cls: type) -> str:
    bases = [
        "TypedDict" if type(namespace_of(cls).get("__total__")) is bool else class_name(base)
        for base in bases_of(cls)
    ]
    return f"class {class_name(cls)}" + (f"({', '.join(bases)})" if bases else "")


def _function_title(value: Any, pen: Pen) -> str:
    return f"{kind_of(value)} {function_name(value)}{signature_text(value, lambda default: pen.brief(default, 40))}"


def _doc_lines(value: Any) -> Iterator[str]:
    function = value.__func__ if type(value) is types.MethodType else value
    if is_exactly(function, *_FUNCTIONS) and (doc := first_line(function.__doc__)):
        yield doc
