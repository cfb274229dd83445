"""The builtins of guarded code that take the name of an attribute, which may be made at run time.

    getattr(order, "total")              allowed
    getattr(order, "__glo" + "bals__")   AttributeError: `__globals__` is refused in a block

Other builtins are Python's own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import MappingProxyType, ModuleType
from typing import Any

from njrt.data.outcome import UserValue
from njrt.execution.guard.allowed import INTERNAL_NAMES, SAFE_NAMES
from njrt.values.introspection import is_a


def is_refused_everywhere(name: str) -> bool:
    """Return whether no object's attribute of this name may be used: it leads into Python."""
    is_special = name.startswith("__") and name.endswith("__")
    return (is_special and name not in SAFE_NAMES) or name in INTERNAL_NAMES


def _check_names(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def checked(value: UserValue, name: UserValue, *rest: UserValue) -> UserValue:
        plain = str.__str__(name) if is_a(name, str) else ""
        is_change = function is not getattr
        is_internal = is_a(value, ModuleType) and (is_change or plain.startswith("_"))
        if is_internal or is_refused_everywhere(plain) or (is_change and plain == "__class__"):
            raise AttributeError(f"`{plain}` is refused in a block")
        return function(value, name, *rest)

    return checked


CHECKED_BUILTINS: MappingProxyType[str, Any] = MappingProxyType(
    {function.__name__: _check_names(function) for function in (getattr, setattr, delattr)}
)
"""The functions that guarded code calls instead of these builtins."""
