"""Classes that both sides have: builtins, and classes of the importable modules of the standard library.

find_known_name(dict)            ("builtins", "dict")
find_known_name(Counter)         ("collections", "Counter")
find_known_name(shop.Order)      None
"""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from contextlib import suppress
from types import MemberDescriptorType
from typing import Any

from njrt.execution.guard.allowed import IMPORTABLE_MODULES, SUBMODULES

CHILD_MODULES = (IMPORTABLE_MODULES - {"asyncio", "typing_extensions"}) | SUBMODULES
"""The modules that a child has itself; `asyncio`, with its event loop, is the program's."""

_KNOWN_MODULES = CHILD_MODULES | {"builtins"}
_OF_TYPES = {
    found: name
    for name, found in sorted(vars(types).items(), reverse=True)
    if isinstance(found, type) and found.__module__ == "builtins"
}

_PLAIN = {
    "builtins": "bool bytearray bytes complex dict float frozenset int list object range set slice str tuple",
    "collections": "ChainMap Counter OrderedDict defaultdict deque",
    "datetime": "date datetime time timedelta timezone tzinfo",
    "decimal": "Decimal",
    "fractions": "Fraction",
    "types": "EllipsisType NoneType NotImplementedType",
    "uuid": "UUID",
}
_ENDS = (SystemExit, KeyboardInterrupt, GeneratorExit)
"""Exceptions that end a program or a generator; the guard also refuses their names."""

KnownName = tuple[str, str]
"""The module of a class, and its path in the module."""


def find_known_name(cls: type) -> KnownName | None:
    """Return the name of the same class on the other side, or None."""
    module, path = type.__getattribute__(cls, "__module__"), cls.__qualname__
    if type(module) is str and module in _KNOWN_MODULES and type(path) is str:
        try:
            if resolve_known(module, path) is cls:
                return module, path
        except (AttributeError, KeyError):
            pass
    return ("types", _OF_TYPES[cls]) if cls in _OF_TYPES else None


def is_plain_class(cls: type) -> bool:
    """Return whether the code may hand this known class to the program, where anything may call it.

    These are classes of plain data, abstract classes and exceptions, but none that reads attributes by name or makes
    classes, functions or iterators.
    """
    if issubclass(cls, BaseException):
        return not issubclass(cls, _ENDS) and find_known_name(cls) is not None
    module, name = find_known_name(cls) or ("", "")
    if module in ("collections.abc", "numbers"):
        return name[:1] != "_"
    return name in _PLAIN.get(module, "").split()


def list_error_members(cls: type) -> dict[str, Any]:
    """Return the descriptors of the attributes that builtin exceptions store, such as `args` and `filename`."""
    found = {"args": vars(BaseException)["args"]}
    for base in cls.__mro__:
        if base.__module__ == "builtins" and base is not AttributeError:  # Python sets its own
            found |= {n: it for n, it in vars(base).items() if type(it) is MemberDescriptorType}
    return {name: found[name] for name in found.keys() - _UNSENT}


_UNSENT = {"__suppress_context__", "message", "exceptions"}


def make_error(
    cls: type, args: tuple[Any, ...], fields: Mapping[str, Any], group: tuple[Any, ...] = ()
) -> BaseException:
    """Make an exception without running its class's code; `group` has a group's message and exceptions."""
    creators = (vars(base).get("__new__") for base in cls.__mro__)
    create: Any = next(each for each in creators if type(each) is types.BuiltinFunctionType)
    error = create(cls, *(group or args))
    if not isinstance(error, BaseException):
        raise TypeError(cls)
    members: dict[str, Any] = list_error_members(cls)
    for name, value in {"args": args, **fields}.items():
        with suppress(TypeError, AttributeError):
            if name not in members:
                vars(error)[name] = value
            elif value is not None:
                members[name].__set__(error, value)
    return error


def resolve_known(module: str, path: str) -> type:
    """Return the class of a known name; raise KeyError for other modules, AttributeError for other classes."""
    if module not in _KNOWN_MODULES:
        raise KeyError(module)
    found: Any = sys.modules[module]
    for name in path.split("."):
        found = vars(found)[name]
        if not isinstance(found, type):  # a path must not pass through a module
            raise AttributeError(path)
    home = type.__getattribute__(found, "__module__"), found.__qualname__
    if home != (module, path) and module != "types":
        raise AttributeError(path)
    cls: type = found
    return cls
