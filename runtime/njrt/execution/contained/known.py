"""Classes that both sides have: builtins, and classes of importable standard library modules.

find_known_name(dict)            ("builtins", "dict")
find_known_name(Counter)         ("collections", "Counter")
find_known_name(shop.Order)      None
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from njrt.execution.contained import wire
from njrt.execution.guard.allowed import IMPORTABLE_MODULES, SUBMODULES

CHILD_MODULES = (IMPORTABLE_MODULES - {"typing_extensions"}) | SUBMODULES
"""The modules that a child has."""

_KNOWN_MODULES = CHILD_MODULES | {"builtins", "asyncio.exceptions"}
HANDED: Mapping[str, type] = {
    it.__name__: it
    for it in (
        *(bool, int, float, complex, str, bytes, list, tuple, set, frozenset, dict),
        *(date, datetime, time, timedelta, Decimal),
    )
}
"""The known classes that the code may hand to the program, such as `ask(question, bool)`."""

_ENDS = (SystemExit, KeyboardInterrupt, GeneratorExit)
"""Exceptions that end a program or a generator; the guard also refuses their names."""


def list_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Return a code object and those nested in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from list_codes(constant)


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
    return None


_UNSAFE = ("UnicodeDecodeError", "UnicodeEncodeError", "UnicodeTranslateError")
"""Exceptions whose text is made from positions in their arguments: wrong ones crash Python."""


def is_safe_error(cls: type) -> bool:
    """Return whether the program makes an exception of this class for the code."""
    bases = {base.__name__ for base in cls.__mro__ if base.__module__ == "builtins"}
    return bases.isdisjoint(_UNSAFE) and not issubclass(cls, (*_ENDS, BaseExceptionGroup))


def make_error(cls: type, args: list[Any]) -> BaseException:
    """Make an exception with these arguments, without running code of the program's classes."""
    base: Any = next(it for it in cls.__mro__ if it.__module__ == "builtins")
    made: BaseException = base.__new__(cls, *args)
    is_limited = issubclass(base, SyntaxError) and not wire.IS_CHILD  # positions in a text
    base.__init__(made, *(args[:1] if is_limited else args))
    return made


def list_arguments(error: BaseException) -> list[Any]:
    """Return the arguments of an exception, with the file name that Python keeps elsewhere."""
    args: list[Any] = [*BaseException.args.__get__(error)]  # type: ignore[attr-defined]
    has_file = isinstance(error, OSError) and error.filename is not None and len(args) == 2
    return [*args, error.filename] if has_file else args  # type: ignore[attr-defined]


def resolve_known(module: str, path: str) -> type:
    """Return a known class; raise KeyError for other modules, AttributeError for other classes."""
    if module not in _KNOWN_MODULES:
        raise KeyError(module)
    found: Any = sys.modules[module]
    for name in path.split("."):
        found = vars(found)[name]
        if not isinstance(found, type):  # a path must not pass through a module
            raise AttributeError(path)
    if (type.__getattribute__(found, "__module__"), found.__qualname__) != (module, path):
        raise AttributeError(path)
    cls: type = found
    return cls
