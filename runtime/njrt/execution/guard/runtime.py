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
from njrt.execution.lowering import FORMAT_METHODS
from njrt.outcome import UserValue
from njrt.values.introspection import get_mro, is_a

_REFUSED_IN_FORMAT = re.compile(
    rf"\{{[^{{}}]*[.\[]\s*(?P<name>{'|'.join(sorted(REFUSED_ATTRIBUTES))})\b"
)


def find_refused_attribute(text: str) -> str | None:
    """The refused attribute that a format string reads, such as `"{0.__class__}"`, or None."""
    found = _REFUSED_IN_FORMAT.search(text) if "{" in text else None
    return found["name"] if found else None


def get_format_method(value: UserValue, name: str) -> Callable[..., UserValue]:
    """The method `format` or `format_map` of a value; that of a text looks at the text first."""
    method: Callable[..., UserValue] = builtins.getattr(value, name)
    if is_a(value, type) and any(base is str for base in get_mro(value)):
        return lambda text, *args, **named: method(_require_safe_format(text), *args, **named)
    if is_a(value, str):
        return lambda *args, **named: (_require_safe_format(value), method(*args, **named))[1]
    return method


def _require_safe_format(text: UserValue) -> UserValue:
    if is_a(text, str) and (name := find_refused_attribute(str.__str__(text))):
        raise _make_refusal_error(name)
    return text


def _check_attribute_name(name: UserValue) -> UserValue:
    # A subclass of str could lie about what it equals: what is compared is what is then looked up.
    plain = str.__str__(name) if is_a(name, str) else name
    if type(plain) is str and plain in REFUSED_ATTRIBUTES:
        raise _make_refusal_error(plain)
    return plain


def _make_refusal_error(name: str) -> AttributeError:
    return AttributeError(f"`{name}` is refused in a block")


def _getattr(value: UserValue, name: str, *default: UserValue) -> UserValue:
    name = _check_attribute_name(name)
    if name in FORMAT_METHODS and hasattr(value, name):
        return get_format_method(value, name)
    return builtins.getattr(value, name, *default)


def _setattr(value: UserValue, name: str, new: UserValue) -> None:
    if is_a(name, str) and str.__str__(name) in REFUSED_BINDINGS:
        raise _make_refusal_error(str.__str__(name))
    builtins.setattr(value, _check_attribute_name(name), new)


def _delattr(value: UserValue, name: str) -> None:
    builtins.delattr(value, _check_attribute_name(name))


CHECKED_BUILTINS: MappingProxyType[str, Any] = MappingProxyType(
    {"getattr": _getattr, "setattr": _setattr, "delattr": _delattr}
)
"""What a guarded snippet sees in place of these builtins."""
