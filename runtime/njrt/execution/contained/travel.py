"""Methods of the program's classes that run in the child: they only compute.

    def total(self): return sum(it.price for it in self.items)    travels, with the class
    def pay(self): self._bank.send(self.total)                    stays: an underscore; it is called

A function travels if it names only its parameters, builtins of the guard's list, modules that
compute and the program's data classes, and has no attribute with an underscore and no `with`. What
it does, the code could do itself, and the program checks the result.
"""

from __future__ import annotations

import builtins
import dis
import marshal
from collections.abc import Callable
from functools import lru_cache
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE
from types import CodeType, FunctionType, ModuleType
from typing import Any

from njrt.data.records import record
from njrt.execution.contained.contents import StateError
from njrt.execution.contained.known import CHILD_MODULES, list_codes
from njrt.execution.contained.state import Side
from njrt.execution.contained.wire import Data, write
from njrt.execution.guard.allowed import split_words

_REFUSED = (
    *("IMPORT_NAME", "IMPORT_STAR", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_BUILD_CLASS"),
    *("BEFORE_WITH", "LOAD_SPECIAL"),  # `with` is for locks and other resources of the program
)
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR", "LOAD_SUPER_ATTR")
_FORMATTING = ("format", "format_map")
_SPECIAL = split_words(
    "__class__ __eq__ __hash__ __iter__ __len__ __lt__ __name__ __repr__ __str__"
)
_BUILTINS = split_words(
    """abs all any ascii bin bool bytearray bytes callable chr complex dict divmod enumerate filter
    float frozenset hash hex int isinstance issubclass iter len list map max min next object oct ord
    pow property range repr reversed round set slice sorted str sum tuple type zip NotImplemented
    Ellipsis"""
)
"""Builtins that compute; `getattr` and the like find attributes by other names."""


def pack_function(function: Any, side: Side, may_make: Callable[[type], bool]) -> Data:
    """Return the data of a function that can run in the child; None if it has to stay.

    It may call classes whose objects the child can make (`may_make`).
    The data are its code, its defaults, and the values of the names that it uses.
    """
    if type(function) is not FunctionType or function.__closure__:
        return None
    names = find_names(function.__code__)
    if names is None or function.__code__.co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR):
        return None
    try:
        used = [[it, _write_global(function, it, side)] for it in sorted(names.used)]
        called = [function.__globals__.get(name) for name in names.called]
        if not all(may_make(it) for it in called if isinstance(it, type)):
            return None
        defaults = [*map(_write_plain, function.__defaults__ or ())]
        named = [[name, _write_plain(it)] for name, it in (function.__kwdefaults__ or {}).items()]
    except StateError:
        return None
    return [_dump(function.__code__), function.__qualname__, used, defaults, named]


def _write_plain(value: Any) -> Data:
    data = write(value)
    if data is None and value is not None:
        raise StateError("not a plain value")
    return data


def _write_global(function: FunctionType, name: str, side: Side) -> Data:
    """Return what the child needs to find a global name or a builtin."""
    if name not in function.__globals__:
        is_error = isinstance(getattr(builtins, name, None), type) and name[-5:] == "Error"
        if name not in _BUILTINS and not is_error:
            raise StateError(name)
        return ["builtin", name]
    value = function.__globals__[name]
    if isinstance(value, ModuleType):
        if value.__name__ not in CHILD_MODULES:
            raise StateError(name)
        return ["module", value.__name__]
    if isinstance(value, type):
        data = side.write_special(value)
        if data is None:
            raise StateError(name)
        return data
    module, path = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if module in CHILD_MODULES:
        return ["known", module, path]
    return _write_plain(value)


@record
class Names:
    """The global names that code uses, and those that it calls."""

    used: frozenset[str]
    called: frozenset[str]


@lru_cache(maxsize=512)
def find_names(code: CodeType) -> Names | None:
    """Return the global names that code uses; None if it does more than compute."""
    used: set[str] = set()
    called: set[str] = set()
    for each in list_codes(code):
        for instruction in dis.get_instructions(each):
            name, operation = str(instruction.argval), instruction.opname
            if operation in _REFUSED:
                return None
            if operation in _ATTRIBUTES and (not _is_plain_name(name)):
                return None
            if operation in ("LOAD_GLOBAL", "LOAD_NAME"):
                used.add(name)
                if operation == "LOAD_NAME" or (instruction.arg or 0) & 1:  # with what a call needs
                    called.add(name)
    return Names(frozenset(used), frozenset(called))


def _is_plain_name(name: str) -> bool:
    return (name[:1] != "_" or name in _SPECIAL) and name not in _FORMATTING


@lru_cache(maxsize=512)
def _dump(code: CodeType) -> str:
    return marshal.dumps(code.replace(co_filename="<program>")).decode("latin-1")
