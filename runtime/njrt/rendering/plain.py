"""Values that are known to be shown without running any code of the program.

is_plain_data([Point(1, 2), "a"])        True, if Point is a dataclass with a generated `repr`
is_plain_data(order)                     False: its class has its own `__repr__`, or is none of data
"""

from __future__ import annotations

import enum
from dataclasses import is_dataclass

from njrt.outcome import UserValue
from njrt.rendering.libraries import is_orm_class
from njrt.rendering.shown_attributes import has_custom_repr
from njrt.values.introspection import VALUE_CLASSES, find_member, read_attributes

_SCALARS = (type(None), bool, int, float, complex, str, bytes, range)


def is_plain_data(value: UserValue) -> bool:
    """Return whether a value is built of Python's values and collections, enums and dataclasses.

    A dataclass must have a generated `repr`. A value that holds itself, or too many, is not.
    """
    waiting = [value]
    for _ in range(10_000):
        if not waiting:
            return True
        part = waiting.pop()
        kind = type(part)
        if kind in (list, tuple, set, frozenset):
            waiting += part
        elif kind is dict:
            waiting += [*part.keys(), *part.values()]
        elif type(kind) is enum.EnumMeta:
            if getattr(find_member(kind, "__repr__"), "__module__", None) != "enum":
                return False
        elif type(kind) is type and is_dataclass(kind):
            is_looked_up = find_member(kind, "__getattribute__") is object.__getattribute__
            if not is_looked_up or has_custom_repr(kind) or is_orm_class(kind):
                return False
            waiting += read_attributes(part).values()
        elif kind not in _SCALARS and kind.__name__ not in VALUE_CLASSES.get(kind.__module__, ()):
            return False
    return False
