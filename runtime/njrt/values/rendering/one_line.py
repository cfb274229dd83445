"""Write any value on one line of bounded length, the same in every process.

    list(range(100_000))       [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...]
    {"b", "a"}                 {'a', 'b'}
    Node("a", next=itself)     Node(name='a', next=Node(...))
    a broken __repr__          <Item whose __repr__ raised ValueError: no such row>

Of the program's own code, only handwritten `__repr__` methods run, under a time limit.
"""

from __future__ import annotations

import gc
import re
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from enum import EnumMeta
from itertools import repeat
from typing import Any

from njrt.data.outcome import UserValue
from njrt.values.introspection import (
    CacheWrapperType,
    find_member,
    get_class_name,
    get_module_name,
    get_mro,
    is_a,
    is_exactly,
    is_user_class,
    make_attribute_reader,
    read_attributes,
)
from njrt.values.rendering.libraries import (
    find_library_function,
    is_mapped_class,
)
from njrt.values.rendering.redaction import MIN_SECRET_CHARS, Redactor, redact_named_before
from njrt.values.rendering.shown_attributes import (
    MAX_ATTRIBUTES,
    has_custom_repr,
    list_shown_attributes,
    list_shown_fields,
    order_attributes,
)
from njrt.values.rendering.signatures import describe_function_kind, format_type, get_function_name
from njrt.values.rendering.writer import (
    DoesNotFit,
    ValueWriter,
    WriteFunction,
    clip,
    escape_unprintable,
)

MAX_SORTED = 256
"""Most elements of a set that is sorted; of larger sets only the length is shown."""


_MAX_INT_BITS = 2000  # bits; from about 4,300 digits on, Python refuses to write an int in decimal


def _make_plain_writer(write: Callable[[Any], str]) -> WriteFunction:
    return lambda writer, value, room, exact: write(value)


def _write_int(writer: ValueWriter, value: int, room: int, exact: bool) -> str:
    bits = int.bit_length(value)
    return int.__repr__(value) if bits <= _MAX_INT_BITS else f"<int of {bits:,} bits>"


def _make_quoted_writer(written: Callable[[Any], str], noun: str) -> WriteFunction:
    """Make the function that writes a str or bytes: quoted whole, or its start, end and length."""

    def cut(value: Any, room: int) -> str:
        text = written(value[: max(0, room)])
        for _ in range(8):
            if len(text) <= room:
                break
            value = value[: max(0, min(room, len(value)) * room // (len(text) + 1))]
            text = written(value)
        return text

    def write(writer: ValueWriter, value: Any, room: int, exact: bool) -> str:
        length = len(value)
        if exact and length + 2 > room:
            raise DoesNotFit
        if length >= MIN_SECRET_CHARS:
            value = redact_long_text(writer.redactor, value, room)
        if len(value) + 2 <= room:
            text = written(value)
            if len(text) <= room:
                return text
        if exact:
            raise DoesNotFit
        if room < 160:
            return cut(value, room - 3) + "..."
        note = f" ({length:,} {noun})"
        end = written(value[-(room // 8) :])
        end = end if len(end) <= room // 4 else ""
        return cut(value, room - len(note) - len(end) - 3) + "..." + end + note

    return write


def redact_long_text(redactor: Redactor, value: Any, room: int) -> Any:
    """Redact a str or bytes; if it is very long, keep only the parts that may be shown."""
    if len(value) > 2 * (room + _MAX_SECRET_CHARS):
        value = value[: room + _MAX_SECRET_CHARS] + value[-room - _MAX_SECRET_CHARS :]
    if type(value) is bytes:
        return redactor.redact(value.decode("latin-1")).encode("latin-1")
    return redactor.redact(value)


_MAX_SECRET_CHARS = 2_000
"""Most characters of a secret that is recognized even if only a part of it would be shown."""

SCALAR_WRITERS: dict[type, WriteFunction] = {
    type(None): lambda writer, value, room, exact: "None",
    type(...): lambda writer, value, room, exact: "...",
    bool: lambda writer, value, room, exact: "True" if value else "False",
    int: _write_int,
    float: lambda writer, value, room, exact: float.__repr__(value),
    complex: lambda writer, value, room, exact: complex.__repr__(value),
    str: _make_quoted_writer(str.__repr__, "characters"),
    bytes: _make_quoted_writer(bytes.__repr__, "bytes"),
}


def make_subclass_writer(cls: type) -> WriteFunction:
    """Write an instance of a subclass of a scalar as `UserId(3)`."""
    plain = SCALAR_WRITERS[cls]

    def write(writer: ValueWriter, value: Any, room: int, exact: bool) -> str:
        name = get_class_name(type(value))
        base = cls.__getitem__(value, slice(None)) if cls in (str, bytes) else value
        return f"{name}({plain(writer, base, room - len(name) - 2, exact)})"

    return write


def write_brief(value: UserValue, room: int) -> str:
    """Write `value` on one line of at most `room` characters, shortened if necessary."""
    return ValueWriter(find_write_function).write_brief(value, room)


def _make_collection_writer(cls: type, opening: str, closing: str) -> WriteFunction:
    """Make the function that writes a list-like class; a subclass is written as `Basket([...])`."""

    def write(writer: ValueWriter, value: Any, room: int, exact: bool) -> str:
        head, tail = (
            (opening, closing)
            if type(value) is cls
            else (f"{get_class_name(type(value))}({opening}", f"{closing})")
        )
        length = cls.__len__(value)  # type: ignore[attr-defined]
        items = zip(repeat(""), cls.__iter__(value))  # type: ignore[attr-defined]
        if cls is tuple and length == 1 and type(value) is tuple:
            tail = ",)"
        text = writer.write_row(head, items, length, tail, room, exact)
        return redact_named_before(text) if writer.redactor.rule else text

    return write


def _write_tuple(writer: ValueWriter, value: tuple[Any, ...], room: int, exact: bool) -> str:
    fields = find_member(type(value), "_fields")
    if type(fields) is not tuple or len(fields) != tuple.__len__(value):
        return _PLAIN_TUPLE_WRITER(writer, value, room, exact)
    parts = ((f"{name}=", item) for name, item in zip(fields, tuple.__iter__(value), strict=True))
    return writer.write_row(f"{get_class_name(type(value))}(", parts, len(fields), ")", room, exact)


_PLAIN_TUPLE_WRITER = _make_collection_writer(tuple, "(", ")")


def _make_set_writer(plain: Any) -> WriteFunction:
    def write(writer: ValueWriter, value: Any, room: int, exact: bool) -> str:
        length = plain.__len__(value)
        if exact and 3 * length > room:
            raise DoesNotFit
        opening, closing = (
            ("{", "}") if type(value) is set else (f"{get_class_name(type(value))}({{", "})")
        )
        if length == 0:
            return f"{get_class_name(type(value))}()"
        if length > MAX_SORTED and not exact:
            return f"{opening}...{closing}"
        share = room if exact else max(24, room // 3)
        elements = sort_elements(writer, plain.__iter__(value), share, exact)
        return writer.write_row(opening, zip(repeat(""), elements), length, closing, room, exact)

    return write


def sort_elements(
    writer: ValueWriter, elements: Iterable[UserValue], room: int, exact: bool
) -> list[UserValue]:
    """Return a set's elements in order, numbers by value and all others by their text."""

    def order(element: UserValue) -> tuple[bool, float, str]:
        text = writer.write_part(element, room, exact)
        is_number = is_exactly(element, int, float) and element == element
        return (not is_number, element if is_number else 0, text)

    return sorted(elements, key=order)


def _write_dict(writer: ValueWriter, value: dict[Any, Any], room: int, exact: bool) -> str:
    head, tail = ("{", "}") if type(value) is dict else (f"{get_class_name(type(value))}({{", "})")
    items = OrderedDict.items(value) if type(value) is OrderedDict else dict.items(value)
    length, pairs = dict.__len__(value), writer.label_values(items, room, exact)
    return writer.write_row(head, pairs, length, tail, room, exact)


def _write_mapping_proxy(writer: ValueWriter, value: Any, room: int, exact: bool) -> str:
    """Write the dict that a proxy protects; other mappings, which may run code, are not read."""
    behind = gc.get_referents(value)[0]
    if type(behind) is not dict:
        return "<mappingproxy>" if writer.is_whole else "mappingproxy({...})"
    pairs = writer.label_values(behind.items(), room, exact)
    return writer.write_row("mappingproxy({", pairs, len(behind), "})", room, exact)


def _write_view(writer: ValueWriter, value: Any, room: int, exact: bool) -> str:
    items = (("", item) for item in value)
    return writer.write_row(
        f"{get_class_name(type(value))}([", items, len(value), "])", room, exact
    )


_write_function = _make_plain_writer(
    lambda value: f"<{describe_function_kind(value)} {get_function_name(value)}>"
)
_write_generator = _make_plain_writer(
    lambda value: f"<{get_class_name(type(value))} {value.__qualname__.rpartition('<locals>.')[2]}>"
)
_write_class_name = _make_plain_writer(lambda value: f"<{get_class_name(type(value))}>")
_write_type_form = _make_plain_writer(format_type)


def _write_exception(writer: ValueWriter, value: BaseException, room: int, exact: bool) -> str:
    arguments: tuple[Any, ...] = BaseException.__dict__["args"].__get__(value)
    parts = [("", argument) for argument in arguments]
    parts += [
        (f"{name}=", held)
        for name, held in list_shown_attributes(value)
        if not any(held is a for a in arguments)
    ]
    return writer.write_row(f"{get_class_name(type(value))}(", parts, len(parts), ")", room, exact)


def write_by_repr(writer: ValueWriter, value: UserValue, room: int, exact: bool) -> str:
    """Write an object with its own `__repr__`."""
    text = writer.write_repr(value, room)
    if exact and len(text) > room:
        raise DoesNotFit
    return text


def _write_datetime(writer: ValueWriter, value: UserValue, room: int, exact: bool) -> str:
    """Write a date or time with the bare name of its class, like all other objects."""
    text = _DATETIME_PREFIX.sub("", writer.write_repr(value, room + _MAX_PREFIX_CHARS))
    if exact and len(text) > room:
        raise DoesNotFit
    return clip(text, room)


_DATETIME_PREFIX = re.compile(r"\bdatetime\.(?=(?:datetime|date|time|timedelta|timezone)\b)")
_MAX_PREFIX_CHARS = 4 * len("datetime.")
"""The characters of all prefixes in a `repr`: of a time with a time zone with an offset."""


def write_by_attributes(writer: ValueWriter, value: UserValue, room: int, exact: bool) -> str:
    """Write an object by its attributes: `Item(name='lamp', price=20)`, or `<list_iterator>`."""
    return _make_attribute_writer(type(value))(writer, value, room, exact)


def _make_attribute_writer(cls: type) -> WriteFunction:
    """Make the function that writes a class's objects, by its fields if it declares any."""
    name, fields, read = get_class_name(cls), list_shown_fields(cls), make_attribute_reader(cls)
    nothing = None if is_user_class(cls) or fields is not None else f"<{name}>"

    def write(writer: ValueWriter, value: UserValue, room: int, exact: bool) -> str:
        held = read(value)
        if exact and len(held) > MAX_ATTRIBUTES:
            raise DoesNotFit
        attributes = order_attributes(held, fields)
        if nothing is not None and not attributes:
            return nothing
        parts = [(f"{attribute}=", held) for attribute, held in attributes]
        return writer.write_row(f"{name}(", parts, len(parts), ")", room, exact)

    return write


def _write_enum_member(writer: ValueWriter, value: Any, room: int, exact: bool) -> str:
    held = read_attributes(value)
    name = held.get("_name_")
    if type(name) is str:
        return f"{get_class_name(type(value))}.{name}"
    return f"{get_class_name(type(value))}({writer.write_brief(held.get('_value_'), room)})"


TYPE_WRITERS: dict[type, WriteFunction] = {
    **{cls: make_subclass_writer(cls) for cls in (int, float, complex, str, bytes)},
    list: _make_collection_writer(list, "[", "]"),
    deque: _make_collection_writer(deque, "deque([", "])"),
    tuple: _write_tuple,
    set: _make_set_writer(set),
    frozenset: _make_set_writer(frozenset),
    dict: _write_dict,
    type({}.keys()): _write_view,
    type({}.values()): _write_view,
    type({}.items()): _write_view,
    types.MappingProxyType: _write_mapping_proxy,
    type: _make_plain_writer(lambda value: f"<class {get_class_name(value)}>"),
    types.FunctionType: _write_function,
    types.MethodType: _write_function,
    CacheWrapperType: _write_function,
    types.BuiltinFunctionType: _write_function,
    types.MethodDescriptorType: _write_function,
    types.ModuleType: _make_plain_writer(
        lambda value: (
            f"<module {escape_unprintable(str(read_attributes(value).get('__name__', '?')))}>"
        )
    ),
    types.GeneratorType: _write_generator,
    types.CoroutineType: _write_generator,
    types.AsyncGeneratorType: _write_generator,
    types.GenericAlias: _write_type_form,
    types.UnionType: _write_type_form,
    types.SimpleNamespace: write_by_attributes,
    BaseException: _write_exception,
}


_BUILTIN_WRITERS: dict[type, WriteFunction] = {
    cls: TYPE_WRITERS[cls] for cls in (list, tuple, set, frozenset, dict)
}


def find_write_function(cls: type) -> WriteFunction:
    """Return the function that writes instances of `cls`, from the nearest ancestor that has one.

    A handwritten `__repr__` takes precedence, because it may mask the object's values.
    """
    if type(cls) is type and (write := SCALAR_WRITERS.get(cls) or _BUILTIN_WRITERS.get(cls)):
        return write
    if is_a(cls, EnumMeta):
        return _write_enum_member
    if is_mapped_class(cls):
        return write_by_attributes if is_user_class(cls) else _write_class_name
    for base in get_mro(cls)[:-1]:
        # Only plain classes are looked up: other metaclasses may define __hash__ or __eq__.
        known = TYPE_WRITERS.get(base) if type(base) is type else None
        if write := known or find_library_function(base):
            method = find_member(cls, "__repr__")
            is_python = type(method) is types.FunctionType and is_user_class(cls)
            return write_by_repr if is_python and has_custom_repr(cls) else write
    if get_module_name(cls) in ("typing", "typing_extensions"):
        return _write_type_form
    if get_module_name(cls) == "datetime":
        return _write_datetime
    return write_by_repr if has_custom_repr(cls) else _make_attribute_writer(cls)
