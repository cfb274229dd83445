"""Describe the program's values to a model, within a budget of characters.

Of objects, type and value are shown; of classes the members.

    describe_variable("items", items, 1000)

    items: list[Item], 3 items = [Item(name='lamp', price=20), ...]
    describe_variable("Item", Item, 1000)

    Item: class Item
        Item: An article of the shop.
        .discount(percent: float) -> None  # Lower the price.

The same state gives the same text in every process. Of the program's own code, only handwritten
`__repr__` methods run, and their failures stay in this module. The work depends on the budget,
never on the size of the value.
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from inspect import cleandoc
from typing import Any

from njrt.data.outcome import UserValue
from njrt.data.records import record
from njrt.values.introspection import (
    get_class_name,
    get_class_namespace,
    get_module_name,
    get_mro,
    identify,
    is_a,
    is_exactly,
    is_user_class,
    list_bases,
    read_attributes,
    uncache,
)
from njrt.values.rendering.hidden_attributes import list_hidden_attributes
from njrt.values.rendering.libraries import find_library_kind, format_library_title
from njrt.values.rendering.members import (
    describe_class,
    describe_module,
    list_abstract_methods,
)
from njrt.values.rendering.one_line import find_write_function
from njrt.values.rendering.redaction import Redactor
from njrt.values.rendering.shown_attributes import has_custom_repr, list_shown_attributes
from njrt.values.rendering.signatures import (
    describe_function_kind,
    format_signature,
    format_type,
    get_doc_summary,
    get_function_name,
)
from njrt.values.rendering.whole import WholeWriter
from njrt.values.rendering.writer import ValueWriter, clip, escape_unprintable

MAX_TYPED_ITEMS = 256
"""Most items of a collection with a type that names the types of its items."""
_MAX_TYPES = 3
_INDENT = "    "
_COUNTED_TYPES: tuple[tuple[type, str], ...] = (
    (dict, "key"),
    (list, "item"),
    (tuple, "item"),
    (set, "element"),
    (frozenset, "element"),
    (deque, "item"),
)
_FUNCTION_TYPES = (types.FunctionType, types.MethodType, types.BuiltinFunctionType)


@record
class ValueDescription:
    """A value as text: `title` is its type and size, `text` the value, `lines` its structure."""

    title: str
    text: str = ""
    lines: Iterable[str] = ()
    is_whole: bool = False


def describe_variable(
    name: str, value: UserValue, budget: int = 1000, redactor: Redactor | None = None
) -> str:
    """Describe a variable in at most `budget` characters: its name, type and value.

    The attributes of a value that is too long, or the members of a class, follow, indented.
    """
    redactor = redactor or Redactor()
    description = _describe_value(value, max(0, budget - len(name) - 2), redactor)
    shown = redactor.write_named(name, value, lambda: description.text)
    text = f" = {shown}{_name_weekday(value)}" if shown and value is not None else ""
    if shown != description.text:
        return _join_lines(budget, f"{name}: {description.title}{text}", ())
    return _join_lines(budget, f"{name}: {description.title}{text}", description.lines)


def describe_whole(name: str, value: UserValue, writer: WholeWriter) -> str:
    """Describe a variable with all of its value; raise `CannotShow` if that is not possible."""
    described = _describe_definition(value, writer)
    if described is not None:
        lines = [f"{name}: {described.title}", *(_INDENT + line for line in described.lines)]
        return "\n".join(map(escape_unprintable, lines))
    last = name.rpartition(".")[2]
    shown = writer.redactor.write_named(
        name,
        value,
        lambda: writer.write_named(last, value, 0) if last != name else writer.write(value),
    )
    return escape_unprintable(f"{name} = {shown}{_name_weekday(value)}")


def _name_weekday(value: UserValue) -> str:
    """Return the comment that names a date's weekday; "" for other values."""
    is_date = type(value) is date or type(value) is datetime
    return f"  # {_WEEKDAYS[value.weekday()]}" if is_date else ""


_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def describe_size(value: UserValue) -> str:
    """Return a value's type and size, like `list[str], 201 items` or `str, 45,000 characters`."""
    length = f", {str.__len__(value):,} characters" if is_a(value, str) else ""
    return _format_title(value) + length


def describe_function(path: str, function: UserValue, budget: int, redactor: Redactor) -> str:
    """Describe a module function named by a prompt: its signature and as much docstring as fits."""
    title = _format_function_title(function, ValueWriter(find_write_function, redactor))
    doc = function.__doc__ if type(function.__doc__) is str else ""
    return _join_lines(
        budget, f"{path}: {title}", filter(str.strip, cleandoc(doc[:budget]).splitlines())
    )


def describe_on_one_line(
    name: str, value: UserValue, budget: int = 300, redactor: Redactor | None = None
) -> str:
    """Describe a variable's value as in the first line of `describe_variable`, without the name.

    Objects are written with as many of their attributes as fit: `Item = Item(name='lamp',
    price=20)`.
    """
    redactor = redactor or Redactor()
    description = _describe_value(value, budget, redactor)
    text = description.text
    if not text and is_user_class(type(value)) and not is_a(value, type):
        room = budget - len(description.title) - 3
        text = ValueWriter(find_write_function, redactor).write_brief(value, max(0, room))
    shown = redactor.write_named(name, value, lambda: text)
    is_plain = not shown or value is None
    line = description.title if is_plain else f"{description.title} = {shown}"
    return clip(escape_unprintable(line), budget)


def render_value(value: UserValue, budget: int = 1000, redactor: Redactor | None = None) -> str:
    """Write an expression's result: only its value if it fits, else as `describe_variable` does."""
    description = _describe_value(value, budget, redactor or Redactor())
    if description.is_whole:
        return clip(escape_unprintable(description.text), budget)
    text = f" = {description.text}" if description.text else ""
    return _join_lines(budget, description.title + text, description.lines)


def _join_lines(budget: int, first: str, lines: Iterable[str]) -> str:
    """Join the lines that fit; the last one shows if there are more."""
    written = [clip(escape_unprintable(first), budget)]
    left = budget - len(written[0])
    try:
        for line in lines:
            line = escape_unprintable(line)
            if len(_INDENT) + len(line) + 1 > left - len(_MORE_LINE):
                written += [_MORE_LINE[1:]] if left >= len(_MORE_LINE) else []
                break
            written.append(_INDENT + line)
            left -= len(_INDENT) + len(line) + 1
    except Exception:  # a class with unusual members: show the lines so far
        pass
    return "\n".join(written)


_MORE_LINE = f"\n{_INDENT}..."


def _describe_value(value: UserValue, room: int, redactor: Redactor) -> ValueDescription:
    try:
        writer = ValueWriter(find_write_function, redactor)
        return _build_description(value, room, writer)
    except Exception as error:
        # Showing a value must never raise in the program.
        name = get_class_name(type(value))
        return ValueDescription(name, f"<cannot be shown: {get_class_name(type(error))}>")


def _build_description(value: UserValue, room: int, writer: ValueWriter) -> ValueDescription:
    """Describe a value according to its kind: class, function, module, type form or object."""
    if (described := _describe_definition(value, writer)) is not None:
        return described
    value = uncache(value)
    title = _format_title(value)
    text = writer.write_whole(value, room - len(title) - 3)
    if text is not None:
        return ValueDescription(title, text, is_whole=True)
    if is_user_class(type(value)) and not _format_length(value):
        return _describe_by_attributes(value, title, room, writer)
    return ValueDescription(title, writer.write_brief(value, room - len(title) - 3))


def _describe_definition(value: UserValue, writer: ValueWriter) -> ValueDescription | None:
    """Describe a class, function, module or type form; None for any other object."""
    value = uncache(value)
    cls = type(value)
    if is_a(value, type):
        return ValueDescription(_format_class_title(value), lines=describe_class(value, writer))
    if is_exactly(value, *_FUNCTION_TYPES):
        return ValueDescription(_format_function_title(value, writer), lines=_read_doc_lines(value))
    if is_a(value, types.ModuleType):
        title = f"module {read_attributes(value).get('__name__', '?')}"
        return ValueDescription(title, lines=describe_module(value, writer))
    if get_module_name(cls) in ("typing", "types") and get_class_name(cls).endswith(
        ("Alias", "Union", "UnionType")
    ):
        return ValueDescription(f"type {format_type(value)}")
    return None


def _describe_by_attributes(
    value: UserValue, title: str, room: int, writer: ValueWriter
) -> ValueDescription:
    """Show an object that does not fit on one line, attribute by attribute."""
    hidden = list_hidden_attributes(value, writer)
    attributes = [pair for pair in list_shown_attributes(value) if pair[0] not in hidden]

    def lines() -> Iterator[str]:
        left = room * 3 // 4
        for number, (name, held) in enumerate(attributes):
            head = f".{name}: {_format_title(held)}"
            share = max(60, left // min(8, len(attributes) - number)) - len(head) - 3
            line = f"{head} = {writer.write_named(name, held, share)}"
            left -= len(line)
            yield line

    text = writer.write_brief(value, room // 4) if has_custom_repr(type(value)) else ""
    return ValueDescription(title, text, lines())


def _format_title(value: UserValue) -> str:
    for base in get_mro(type(value)):
        if kind := find_library_kind(base):
            return format_library_title(value, kind)
    length = _format_length(value)
    return _format_value_type(value) + (f", {length}" if length else "")


def _format_length(value: UserValue) -> str:
    for kind, noun in _COUNTED_TYPES:
        if is_a(value, kind):
            if "_fields" in get_class_namespace(type(value)):
                return ""  # a named tuple is more of an object than a collection
            length = kind.__len__(value)  # type: ignore[attr-defined]
            return f"{length:,} {noun}" + ("" if length == 1 else "s")
    return ""


def _format_value_type(value: UserValue) -> str:
    """Return the type of a value as in an annotation: `list[int]`, `dict[str, Item]`, `Order`."""
    cls = type(value)
    name = get_class_name(cls)
    if value is None:
        return "None"
    if cls is tuple and 0 < len(value) <= _MAX_TYPES + 1:
        return f"tuple[{', '.join(get_class_name(type(item)) for item in value)}]"
    if cls is dict:
        keys, values = _format_item_types(value.keys()), _format_item_types(value.values())
        return f"dict[{keys}, {values}]" if keys and values else name
    if is_exactly(value, list, set, frozenset, deque, tuple):
        items = _format_item_types(value)
        return (f"tuple[{items}, ...]" if cls is tuple else f"{name}[{items}]") if items else name
    return name


def _format_item_types(items: Any) -> str:
    """Return the types of a collection's items as a union, or an empty string if too many."""
    if not 0 < len(items) <= MAX_TYPED_ITEMS:
        return ""
    # Classes are compared by identity: a metaclass may define __hash__ or __eq__.
    classes = {identify(cls): cls for cls in map(type, items)}
    if len(classes) > _MAX_TYPES:
        return ""
    return " | ".join(
        sorted("None" if cls is type(None) else get_class_name(cls) for cls in classes.values())
    )


def _format_class_title(cls: type) -> str:
    bases = [
        "TypedDict"
        if type(get_class_namespace(cls).get("__total__")) is bool
        else get_class_name(base)
        for base in list_bases(cls)
    ]
    if list_abstract_methods(cls):
        return "abstract class, defined already; a subclass is written so:"
    return f"class {get_class_name(cls)}" + (f"({', '.join(bases)})" if bases else "")


def _format_function_title(value: Any, writer: ValueWriter) -> str:
    return (
        f"{describe_function_kind(value)}"
        f" {get_function_name(value)}"
        f"{format_signature(value, lambda name, default: writer.write_named(name, default, 40))}"
    )


def _read_doc_lines(value: Any) -> Iterator[str]:
    function = uncache(value.__func__ if type(value) is types.MethodType else value)
    if is_exactly(function, *_FUNCTION_TYPES) and (doc := get_doc_summary(function.__doc__)):
        yield doc
