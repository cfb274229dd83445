"""Compare two values part by part, for copies and for values that were recreated.

    is_same_value(Order(total=0.3), Order(total=0.1 + 0.2))    True: floats nearly, by attributes

Instances of a class that defines `__eq__` are compared with it. Not detected: sets of instances
without `__eq__`, and objects with state in extension types, which are equal only to themselves.
"""

from __future__ import annotations

import math
from contextlib import suppress

from njrt.data.outcome import UserValue
from njrt.values.introspection import (
    find_member,
    list_slots,
    make_namespace_reader,
    read_attributes,
)

RELATIVE_ERROR = 1e-9
"""By how much floats may differ."""


def is_same_value(
    one: UserValue, other: UserValue, around: frozenset[tuple[int, int]] = frozenset()
) -> bool:
    """Return whether two values are equal; `around` are the pairs of objects that hold them."""
    pair = (id(one), id(other))
    if one is other or pair in around:
        return True
    around |= {pair}
    if isinstance(one, float | int) and isinstance(other, float | int):
        if isinstance(one, bool) or isinstance(other, bool):
            return one is other
        return one == other or _is_close(one, other)
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(
            is_same_value(a, b, around) for a, b in zip(one, other, strict=True)
        )
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(
            is_same_value(held, other[key], around) for key, held in one.items()
        )
    cls = type(one)
    if find_member(cls, "__eq__") is not vars(object)["__eq__"]:
        return bool(one == other)
    if isinstance(one, BaseException) and not is_same_value(one.args, other.args, around):
        return False
    has_state = make_namespace_reader(cls, None)(one) is not None or list_slots(cls)
    return bool(has_state) and is_same_value(read_attributes(one), read_attributes(other), around)


def _is_close(one: float, other: float) -> bool:
    if isinstance(one, int) and isinstance(other, int):
        return False
    with suppress(OverflowError):  # from an integer too large for a float
        return math.isclose(one, other, rel_tol=RELATIVE_ERROR) or (one != one and other != other)
    return False
