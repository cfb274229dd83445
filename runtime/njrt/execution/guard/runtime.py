"""Attributes whose names are known only when the code runs, as a guarded snippet gets at them.

getattr(order, "total")            as always
getattr(order, "__cl" + "ass__")   AttributeError: `__class__` is refused in a block
template.format(order)             as always, unless the text says "{0.__class__}"
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from njrt.execution.guard.allowed import REFUSED_ATTRIBUTES, REFUSED_BINDINGS
from njrt.execution.lowering import FORMATTING
from njrt.outcome import UserValue
from njrt.values.introspection import is_a, lineage_of

_IN_FORMAT = re.compile(rf"\{{[^{{}}]*[.\[]\s*(?P<name>{'|'.join(sorted(REFUSED_ATTRIBUTES))})\b")


def refused_in_format(text: str) -> str | None:
    """The refused attribute that a format string reads, such as `"{0.__class__}"`, or None."""
    found = _IN_FORMAT.search(text) if "{" in text else None
    return found["name"] if found else None


def method_of(value: UserValue, name: str) -> Callable[..., UserValue]:
    """The method `format` or `format_map` of a value; that of a text looks at the text first."""
    method: Callable[..., UserValue] = builtins.getattr(value, name)
    if is_a(value, type) and any(base is str for base in lineage_of(value)):
        return lambda text, *args, **named: method(_harmless(text), *args, **named)
    if is_a(value, str):
        return lambda *args, **named: (_harmless(value), method(*args, **named))[1]
    return method


def _harmless(text: UserValue) -> UserValue:
    if is_a(text, str) and (name := refused_in_format(str.__str__(text))):
        raise _refused(name)
    return text


def _checked(name: UserValue) -> UserValue:
    # A subclass of str could lie about what it equals: what is compared is what is then looked up.
    plain = str.__str__(name) if is_a(name, str) else name
    if type(plain) is str and plain in REFUSED_ATTRIBUTES:
        raise _refused(plain)
    return plain


def _refused(name: str) -> AttributeError:
    return AttributeError(f"`{name}` is refused in a block")


def _getattr(value: UserValue, name: str, *default: UserValue) -> UserValue:
    name = _checked(name)
    if name in FORMATTING and hasattr(value, name):
        return method_of(value, name)
    return builtins.getattr(value, name, *default)


def _setattr(value: UserValue, name: str, new: UserValue) -> None:
    if is_a(name, str) and str.__str__(name) in REFUSED_BINDINGS:
        raise _refused(str.__str__(name))
    builtins.setattr(value, _checked(name), new)


def _delattr(value: UserValue, name: str) -> None:
    builtins.delattr(value, _checked(name))


CHECKED_BUILTINS: MappingProxyType[str, Any] = MappingProxyType(
    {"getattr": _getattr, "setattr": _setattr, "delattr": _delattr}
)
"""What a guarded snippet sees in place of these builtins."""
