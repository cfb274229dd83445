"""The objects of contained code in the child, as `state.Side` asks for them.

objects.find_obstacle([lambda: 1])      StateError: a function ends with the code
objects.take_delta({})                  what has changed since the last message
"""

from __future__ import annotations

import builtins
import sys
from collections import defaultdict
from types import ModuleType
from typing import Any

from njrt.execution.contained import rebuild
from njrt.execution.contained.contents import Image, Kind, StateError
from njrt.execution.contained.known import (
    CHILD_MODULES,
    HANDED,
    find_known_name,
    list_arguments,
    make_error,
)
from njrt.execution.contained.state import Table, write_member
from njrt.execution.contained.wire import Data

_ENDING = (
    *("function", "builtin_function_or_method", "method", "coroutine"),
    *("generator", "map", "filter", "zip", "enumerate", "reversed", "list_iterator"),
    *("dict_keys", "dict_values", "dict_items"),
)
"""Classes of objects that end with their code."""


class Objects:
    """The objects of the program in the child (state: by number)."""

    def __init__(self, call: rebuild.Call) -> None:
        self.table = Table(self)
        self.classes = rebuild.Classes(call, self.table.decode, self.table.mark)
        self.functions: dict[int, Any] = {}
        self.modules: dict[str, Any] = {}
        self._call = call

    def describe(self, described: list[Any]) -> None:
        for it in described:
            if "function" in it:
                number, name, is_async = it["function"]
                self.functions[number] = rebuild.Function(self._call, number, name, is_async)
        self.classes.add([it for it in described if "function" not in it])

    def write_special(self, value: Any) -> Data:
        kind = type(value)
        if kind is rebuild.Function:
            return ["function", value._number]
        if kind is rebuild.Module or (kind is ModuleType and value.__name__ in CHILD_MODULES):
            return ["module", value.__name__]
        if isinstance(value, type):
            if value in self.classes.kinds:
                return ["class", self.classes.kinds[value][1]]
            is_handed = HANDED.get(value.__name__) is value
            return ["handed", value.__name__] if is_handed else None
        form, key = self.classes.kinds.get(kind, ("", ""))
        return write_member(key, value) if form == "enum" else None

    def read_special(self, data: list[Data]) -> Any:
        match data:
            case ["class", key]:
                return self.classes.find(key)
            case ["member", key, None, number]:
                return self.classes.find(key)(number)
            case ["member", key, name, _]:
                return self.classes.find(key)[name]
            case ["function", number]:
                return self.functions[number]
            case ["known", module, path]:
                return rebuild.resolve(module, path)
            case ["builtin", name]:
                return getattr(builtins, name)
            case ["module", name]:
                return self.modules.get(name) or sys.modules[name]
            case ["unknown"]:
                return None
        raise AssertionError(data)

    def find_kind(self, cls: type) -> Kind:
        if issubclass(cls, BaseException):
            if issubclass(cls, BaseExceptionGroup):
                raise StateError("a group of exceptions cannot be handed to the program")
            if known := find_known_name(cls):
                return "error", "=" + ":".join(known)
        if cls in self.classes.kinds:
            return self.classes.kinds[cls]
        name = cls.__name__
        if issubclass(cls, type) or name in _ENDING:
            raise StateError(
                f"a {name} of contained code ends with it, and cannot be kept or called; "
                "give the program values, such as list(...)"
            )
        raise StateError(
            f"an object of the class {cls.__qualname__.rpartition('.')[2]} that the code made "
            "cannot be handed to the program; use lists, dicts or the program's classes"
        )

    def make_empty(self, kind: Kind) -> Any:
        tag, name = kind
        if tag == "handle":
            return object.__new__(self.classes.find_handle(name))
        if tag == "dict" and name.startswith("defaultdict"):
            return defaultdict(_refuse_default)
        return self.classes.make_empty(name)

    def make_frozen(self, kind: Kind, members: list[Any]) -> Any:
        tag, name = kind
        if tag != "error":
            return tuple.__new__(self.classes.find(name), members)
        is_known = name[:1] == "="
        cls = rebuild.resolve(*name[1:].split(":")) if is_known else self.classes.find(name)
        made = make_error(cls, members[1:])
        if not is_known:
            made.__dict__["_njrt_text"] = members[0]
        return made

    def read_error(self, error: Any) -> Image:
        return (), ("", *list_arguments(error))

    def take_delta(self, names: dict[str, Data]) -> Data:
        """Return what has changed since the last message, once the message's values are encoded."""
        table = self.table
        changed = table.find_changed()
        # CPython empties a list while it sorts it, and gives it a size below that of an empty one.
        lists = (it for it in map(table.objects.__getitem__, changed) if type(it) is list)
        if any(list.__sizeof__(it) < [].__sizeof__() for it in lists):
            raise StateError(
                "a function of the program cannot be called while a list is being sorted; "
                "compute the keys first, or use sorted()"
            )
        rows = table.write_changed(changed)
        images, added = table.write_added(len(table.known))
        table.agree(changed, images)
        return [rows, added, names]

    def encode_error(self, error: BaseException) -> Data:
        """Return the data of an exception or, if it cannot cross, of a TypeError with its text."""
        crosses = self.can_cross(error)
        return self.table.encode(error if crosses else RuntimeError(describe_error(error)))

    def can_cross(self, value: Any) -> bool:
        """Return whether a value and all that it reaches can be handed to the program."""
        return self.find_obstacle(value) is None

    def find_obstacle(self, value: Any) -> StateError | None:
        table = self.table
        before = len(table.objects)
        try:
            table.encode(value)
            table.write_added(before)
        except StateError as error:
            table.forget_added(before)
            return error
        return None


def _refuse_default() -> Any:
    raise TypeError("the default factory of this defaultdict is a function of the program")


def describe_error(error: BaseException) -> str:
    """Return the class and the message of an exception."""
    name = type(error).__qualname__.rpartition("<locals>.")[2]
    try:
        message = str(error)
    except BaseException as problem:
        return f"{name}: <its message cannot be shown: {type(problem).__name__}>"
    return f"{name}: {message}" if message else name
