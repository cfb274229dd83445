"""The attributes that a class keeps out of its `repr`, or masks there."""

from __future__ import annotations

import re
import types

from njrt.data.outcome import UserValue
from njrt.values.introspection import find_member, read_attributes
from njrt.values.rendering.one_line import find_write_function, write_by_repr
from njrt.values.rendering.shown_attributes import list_hidden_fields
from njrt.values.rendering.writer import ValueWriter

_MAX_REPR_CHARS = 10_000
_MASK = re.compile(r"\*{3}|\u2022{3}|x{5}|redact|mask|hidden|secret", re.IGNORECASE)


def list_hidden_attributes(value: UserValue, writer: ValueWriter) -> set[str]:
    """Return the attributes that a class keeps out of its `repr`, or that its `__repr__` masks.

    If the program defines `__repr_args__`, which pydantic calls, the attributes that it leaves out
    are hidden. If the text of a `__repr__` shows signs of masking, such as `***`, an attribute
    counts as masked unless its value is in that text.
    """
    cls, attributes = type(value), read_attributes(value)
    hidden = set(list_hidden_fields(cls))
    if find_write_function(cls) is not write_by_repr:
        return hidden
    text = writer.write_repr(value, _MAX_REPR_CHARS)
    arguments = find_member(cls, "__repr_args__")
    if type(arguments) is types.FunctionType and not arguments.__module__.startswith("pydantic."):
        return hidden | {name for name in attributes if f"{name}=" not in text}
    if not _MASK.search(text):
        return hidden
    return hidden | {
        name
        for name, item in attributes.items()
        if writer.write_brief(item, 40).removesuffix("...").strip("'\"") not in text
    }


def is_masked(value: UserValue, writer: ValueWriter) -> bool:
    """Return whether the text of a handwritten `__repr__` shows signs of masking, such as `***`."""
    return find_write_function(type(value)) is write_by_repr and bool(
        _MASK.search(writer.write_repr(value, _MAX_REPR_CHARS))
    )
