"""The operations of Python's data model on one object, by the name of the special method.

    OPERATIONS["__add__"](order, 3)       order + 3
    OPERATIONS["__enter__"](lock)         what `with lock` enters

A proxy has those methods of this table that its object's class has; the door performs them on the object. Reflected
methods exist wherever the plain ones do, so the program computes `[1] + proxy`.
"""

from __future__ import annotations

import copy
import datetime
import math
import operator
import os
from collections.abc import Callable, Mapping
from typing import Any

from njrt.execution.contained.wire import MAX_TUPLE

Operation = Callable[..., Any]


def _reflect(function: Operation) -> Operation:
    return lambda one, other: function(other, one)


def _make_exit(name: str) -> Operation:
    def leave(manager: Any, error: BaseException | None) -> Any:
        kind, trace = (None, None) if error is None else (type(error), error.__traceback__)
        return getattr(type(manager), name)(manager, kind, error, trace)

    return leave


def _hash(value: Any) -> Any:
    """Return a value's hash, or a plain value with the same hash because string hashes differ between processes."""
    found, make = hash(value), _PLAIN_VALUES.get(type(value).__hash__)
    if isinstance(value, datetime.datetime) and _get_zone(value) is None:
        parts = datetime.datetime.date(value), datetime.datetime.time(value)
        plain = datetime.datetime.combine(*parts).replace(fold=0)
        return plain if hash(plain) == found else found
    is_long = isinstance(value, tuple | frozenset) and len(value) > MAX_TUPLE
    return found if make is None or is_long else make(value)


_get_zone = datetime.datetime.tzinfo.__get__
_PLAIN_VALUES: Mapping[Any, Callable[[Any], Any]] = {
    str.__hash__: str.__str__,
    bytes.__hash__: lambda value: bytes.__getitem__(value, slice(None)),
    tuple.__hash__: lambda value: tuple.__getitem__(value, slice(None)),
    frozenset.__hash__: lambda value: frozenset(frozenset.__iter__(value)),
    datetime.date.__hash__: lambda value: datetime.date.fromordinal(datetime.date.toordinal(value)),
    datetime.time.__hash__: lambda value: datetime.time.fromisoformat(
        datetime.time.isoformat(value)
    ),
}
"""Functions that make a plain value from an instance of a subclass, by the function that hashes it."""

_BINARY = ["add", "and", "floordiv", "lshift", "matmul", "mod", "mul", "or", "rshift", "sub", "truediv", "xor"]  # fmt: skip

_NUMBERS: dict[str, Operation] = {f"__{it}__": getattr(operator, f"__{it}__") for it in _BINARY}
REFLECTED: Mapping[str, str] = {f"__{it}__": f"__r{it}__" for it in (*_BINARY, "divmod", "pow")}

OPERATIONS: Mapping[str, Operation] = {
    **_NUMBERS,
    "__divmod__": divmod,
    "__pow__": pow,
    **{REFLECTED[name]: _reflect(function) for name, function in _NUMBERS.items()},
    "__rdivmod__": _reflect(divmod),
    "__rpow__": _reflect(pow),
    **{f"__i{name}__": getattr(operator, f"__i{name}__") for name in (*_BINARY, "pow")},
    **{f"__{name}__": getattr(operator, name) for name in ["eq", "ne", "lt", "le", "gt", "ge"]},
    "__neg__": operator.neg,
    "__pos__": operator.pos,
    "__abs__": abs,
    "__invert__": operator.invert,
    "__int__": int,
    "__float__": float,
    "__complex__": complex,
    "__index__": operator.index,
    "__bytes__": bytes,
    "__round__": round,
    "__trunc__": math.trunc,
    "__floor__": math.floor,
    "__ceil__": math.ceil,
    "__fspath__": os.fspath,
    "__bool__": bool,
    "__hash__": _hash,
    "__len__": len,
    "__length_hint__": operator.length_hint,
    "__iter__": iter,
    "__next__": next,
    "__reversed__": reversed,
    "__contains__": operator.contains,
    "__getitem__": operator.getitem,
    "__setitem__": operator.setitem,
    "__delitem__": operator.delitem,
    "__enter__": lambda manager: type(manager).__enter__(manager),
    "__exit__": _make_exit("__exit__"),
    "__aenter__": lambda manager: type(manager).__aenter__(manager),
    "__aexit__": _make_exit("__aexit__"),
    "__aiter__": aiter,
    "__anext__": anext,
}
"""Operations that an object has only if its class defines them."""

EVERY_OBJECT: Mapping[str, Operation] = {
    "__repr__": repr,
    "__str__": str,
    "__format__": format,
    "__dir__": dir,
    "__copy__": copy.copy,
    "__deepcopy__": copy.deepcopy,
}
"""Operations of all objects."""

ALL: Mapping[str, Operation] = {**OPERATIONS, **EVERY_OBJECT}


def list_operations(cls: type) -> list[str]:
    """Return the names of the operations that a class defines, including reflected ones."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__[:-1]):
        found |= vars(base)
    names = [name for name in (*OPERATIONS, "__call__", "__await__") if found.get(name) is not None]
    reflected = [REFLECTED[name] for name in names if name in REFLECTED]
    return list(dict.fromkeys([*names, *reflected]))
