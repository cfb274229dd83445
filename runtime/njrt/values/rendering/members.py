"""Describe the members of a class: constructor, fields, methods, properties, enumeration members.

    class Item:                                   Item: An article of the shop.
        def __init__(self, name: str, price=0)    Item(name: str, price: int = 0)
        def discount(self, percent: float)        Item.discount(percent: float) -> None  # Lower ...

Private names, and members inherited from Python's own classes and well-known libraries, are left
out. Not detected: members that a metaclass or `__getattr__` provides.
"""

from __future__ import annotations

import types
from collections.abc import Collection, Iterator
from enum import EnumMeta
from functools import cached_property
from itertools import islice
from typing import Any

from njrt.values.introspection import (
    Namespace,
    collect_members,
    find_member,
    get_class_name,
    get_class_namespace,
    get_mro,
    is_a,
    is_exactly,
    is_standard_module,
    is_user_class,
    read_attributes,
    uncache,
)
from njrt.values.rendering.redaction import REDACTED
from njrt.values.rendering.shown_attributes import list_hidden_fields
from njrt.values.rendering.signatures import (
    describe_function_kind,
    format_signature,
    format_type,
    get_doc_summary,
    read_annotations,
)
from njrt.values.rendering.writer import ValueWriter

MAX_MEMBERS = 100
_DEFAULT_CHARS = 40
_SPECIAL_METHODS = {
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


def describe_class(cls: type, writer: ValueWriter) -> Iterator[str]:
    """Yield a class's docstring, its constructor or fields and constants, or its enum members.

    Its methods and properties follow.
    """
    yield from describe_doc(cls, is_whole=writer.is_whole)
    if abstract := list_abstract_methods(cls):
        yield f"class NAME({get_class_name(cls)}):"
        members = collect_members(cls)
        for name in abstract:
            yield f"    {_format_method_stub(name, members.get(name), writer)}"
    if is_a(cls, EnumMeta):
        yield format_enum_members(cls, writer)
    else:
        name = "NAME" if abstract else get_class_name(cls)
        yield from describe_constructor(cls, writer, name)
        yield from _describe_constants(cls, writer)
    yield from _describe_methods(cls, writer, abstract)


def list_abstract_methods(value: Any) -> tuple[str, ...]:
    """Return the methods that a subclass must define; empty if the value is no abstract class."""
    if not is_a(value, type):
        return ()
    methods = get_class_namespace(value).get("__abstractmethods__")
    return tuple(sorted(methods)) if type(methods) is frozenset else ()


def _format_method_stub(name: str, member: Any, writer: ValueWriter) -> str:
    """Return the first line of a method or property definition: `def total(self) -> float: ...`."""
    kind = type(member)
    is_decorated = kind is property or kind is classmethod or kind is staticmethod
    decorator = f"@{kind.__name__} " if is_decorated else ""
    function = member.fget if type(member) is property else getattr(member, "__func__", member)
    if type(function) is not types.FunctionType:
        return f"def {name}(self, ...): ..."
    prefix = "async " if describe_function_kind(function).startswith("async") else ""
    signature = _format_member_signature(function, writer)
    return f"{decorator}{prefix}def {name}{signature}: ...{_format_doc_comment(function)}"


def describe_module(module: types.ModuleType, writer: ValueWriter) -> Iterator[str]:
    """Yield the public functions and classes that one of the program's own modules defines."""
    names = read_attributes(module)
    name = names.get("__name__")
    if type(name) is not str or is_standard_module(name):
        return
    for public, value in list(islice(names.items(), MAX_MEMBERS)):
        if type(public) is not str or public.startswith("_"):
            continue
        value = uncache(value)
        if type(value) is types.FunctionType and value.__module__ == name:
            yield f".{public}{_format_member_signature(value, writer)}{_format_doc_comment(value)}"
        elif is_a(value, type) and get_class_namespace(value).get("__module__") == name:
            yield (
                f".{public}: class{_format_doc_comment(get_class_namespace(value).get('__doc__'))}"
            )


def describe_doc(cls: type, *, is_whole: bool = False) -> Iterator[str]:
    """Yield a line with the docstring of a class of the program: its first line, or all of it."""
    written = get_class_namespace(cls).get("__doc__")
    doc = get_doc_summary(written)
    if is_whole and type(written) is str:
        doc = " ".join(written.split())
    # A dataclass without a docstring gets its signature as docstring.
    if (
        doc
        and not doc.startswith(f"{get_class_name(cls).rpartition('.')[2]}(")
        and is_user_class(cls)
    ):
        yield f"{get_class_name(cls)}: {doc}"


def format_enum_members(cls: type, writer: ValueWriter) -> str:
    """Return the line with the members of an enum and their values."""
    members: Namespace = get_class_namespace(cls).get("_member_map_") or {}
    most = len(members) if writer.is_whole else MAX_MEMBERS
    shown = [
        f"{name} ="
        f" {writer.write_named(name, read_attributes(member).get('_value_'), _DEFAULT_CHARS)}"
        for name, member in islice(members.items(), most)
    ]
    more = ", ..." if len(members) > most else ""
    return f"{get_class_name(cls)} members: {', '.join(shown)}{more}"


def describe_constructor(cls: type, writer: ValueWriter, name: str = "") -> Iterator[str]:
    """Yield the class's constructor, or its fields if more detailed, under `name` if given."""
    name, fields = name or get_class_name(cls), find_member(cls, "__pydantic_fields__")
    if type(fields) is dict:
        yield (
            f"{name}("
            f"{', '.join(_format_field(key, field, writer) for key, field in fields.items())})"
        )
        return
    if type(get_class_namespace(cls).get("__total__")) is bool:  # a TypedDict
        yield f"keys: {', '.join(_format_annotated_names(cls))}"
        return
    if type(get_class_namespace(cls).get("_fields")) is tuple:  # a named tuple
        yield (
            f"{name}("
            f"{', '.join(_format_annotated_names(cls) or get_class_namespace(cls)['_fields'])})"
        )
        return
    constructor = find_member(cls, "__init__")
    if type(constructor) is not types.FunctionType:
        constructor = find_member(cls, "__new__")
        constructor = constructor.__func__ if type(constructor) is staticmethod else constructor
    if type(constructor) is types.FunctionType:
        hidden = list_hidden_fields(cls)
        signature = _format_member_signature(constructor, writer, bound=True, hidden=hidden)
        yield f"{name}{signature.removesuffix(' -> None')}"


def _format_annotated_names(cls: type) -> list[str]:
    optional = get_class_namespace(cls).get("__optional_keys__") or ()
    return [
        f"{name}: {format_type(annotation)}" + (" (optional)" if name in optional else "")
        for base in reversed(get_mro(cls))
        for name, annotation in read_annotations(base).items()
    ]


def _format_field(name: str, field: Any, writer: ValueWriter) -> str:
    text = f"{name}: {format_type(field.annotation)}"
    if field.default_factory is not None:
        text += " = ..."
    elif not field.is_required():
        default = writer.write_named(name, field.default, _DEFAULT_CHARS)
        text += f" = {default if field.repr else REDACTED}"
    notes = [writer.write_brief(constraint, _DEFAULT_CHARS) for constraint in field.metadata]
    notes += [repr(get_doc_summary(field.description))] if field.description else []
    return text + (f" ({', '.join(notes)})" if notes else "")


def _describe_constants(cls: type, writer: ValueWriter) -> Iterator[str]:
    annotated = read_annotations(cls)
    members: Namespace = get_class_namespace(cls)
    if writer.is_whole:
        annotated = find_member(cls, "__dataclass_fields__") or {}
        members = collect_members(cls)
    for name, value in list(islice(members.items(), None if writer.is_whole else MAX_MEMBERS)):
        if name.startswith(("_", "model_")) or name in annotated:
            continue
        is_plain = is_exactly(
            value, int, float, str, bool, bytes, list, tuple, dict, set, frozenset
        )
        is_method = is_a(value, type) or find_member(type(value), "__get__") is not None
        if is_plain or (writer.is_whole and not is_method):
            yield f".{name} = {writer.write_named(name, value, 2 * _DEFAULT_CHARS)}"


def _describe_methods(cls: type, writer: ValueWriter, left_out: Collection[str]) -> Iterator[str]:
    """Yield a line for each public method and property, then one for the class's operators."""
    members = collect_members(cls)
    for name, member in islice(members.items(), 10 * MAX_MEMBERS):
        if name.startswith("_") or name in left_out:
            continue
        if line := _format_member(f".{name}", member, writer):
            yield line
    supported = [
        word
        for name, word in _SPECIAL_METHODS.items()
        if type(members.get(name)) is types.FunctionType
    ]
    if supported and not is_a(cls, EnumMeta):
        yield f"supports {', '.join(supported)}"


def _format_member(name: str, member: Any, writer: ValueWriter) -> str:
    kind = type(member := uncache(member))
    if kind is property or kind is cached_property:
        getter = uncache(member.fget if kind is property else member.func)
        returned = (
            read_annotations(getter).get("return") if type(getter) is types.FunctionType else None
        )
        arrow = f" -> {format_type(returned)}" if returned is not None else ""
        return f"{name}{arrow}  (property){_format_doc_comment(getter)}"
    is_method = kind is staticmethod or kind is classmethod
    if not is_method and kind is not types.FunctionType:
        return ""
    function = uncache(member.__func__) if is_method else member
    is_async = not is_method and describe_function_kind(member).startswith("async")
    signature = _format_member_signature(function, writer, bound=kind is not staticmethod)
    return f"{'async ' if is_async else ''}{name}{signature}{_format_doc_comment(function)}"


def _format_member_signature(
    function: Any, writer: ValueWriter, *, bound: bool = False, hidden: frozenset[str] = frozenset()
) -> str:
    def write_default(name: str, default: Any) -> str:
        return REDACTED if name in hidden else writer.write_named(name, default, _DEFAULT_CHARS)

    return format_signature(function, write_default, skip_first=bound)


def _format_doc_comment(documented: Any) -> str:
    doc = documented.__doc__ if type(documented) is types.FunctionType else documented
    line = get_doc_summary(doc)
    return f"  # {line}" if line else ""
