"""The program's classes, functions and other objects as the child has them.

    rebuilt.find("shop:Order")      a class with the same name, fields, bases and methods
    Function                        a function of the program: a call is a message
    Handle                          an object that the code can store, return and pass on

Methods that only compute run here; others are calls of the program.
"""

from __future__ import annotations

import builtins
import dataclasses
import marshal
import sys
from abc import ABCMeta
from collections import namedtuple
from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from types import FunctionType
from typing import Any

from njrt.execution.contained.contents import has_only_namespace, list_public
from njrt.execution.contained.state import FACTORIES
from njrt.execution.contained.wire import Data

Call = Callable[..., Any]
"""Makes a call of the program: `call(target, args, named, is_async)`."""


class Rebuilt(ABCMeta):
    """The class of rebuilt classes, which the code cannot change."""

    def __setattr__(cls, name: str, value: Any) -> None:
        cls._check()
        super().__setattr__(name, value)

    def __delattr__(cls, name: str) -> None:
        cls._check()
        super().__delattr__(name)

    def _check(cls) -> None:
        if "_njrt_sealed" in cls.__dict__:
            raise TypeError(f"the class {cls.__name__} cannot be changed in contained code")


class Function:
    """A function of the program."""

    _call: Call
    _number: int
    _is_async: bool
    __name__: str

    def __init__(self, call: Call, number: int, name: str, is_async: bool) -> None:
        held = {"_call": call, "_number": number, "_is_async": is_async}
        self.__dict__.update(held, __name__=name, __qualname__=name)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"`{name}` of a function cannot be set in contained code")

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self._call(["function", self._number], args, named, self._is_async)

    def __repr__(self) -> str:
        return f"<function {self.__name__} of the program>"


class Module:
    """A module that the prompt names, with the members that the code may use."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the prompt does not name `{name}` of this module")


class Handle:
    """An object of the program that the code can only store, return and pass on.

    Of one of the program's own classes, it has the methods and properties.
    """

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of the program>"

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"`{name}` of a {type(self).__name__} cannot be used in contained code; "
            "call a function of the program that uses it"
        )

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(getattr(type(self), name, None), property):
            return object.__setattr__(self, name, value)
        raise AttributeError(f"`{name}` of a {type(self).__name__} cannot be set in contained code")

    def _refuse(self, *_: Any) -> Any:
        raise TypeError(
            f"a {type(self).__name__} cannot be used in contained code; call a function of the "
            "program that uses it, such as one that returns a list"
        )

    __iter__ = __len__ = __getitem__ = __enter__ = __exit__ = _refuse
    __await__ = __aiter__ = __aenter__ = __aexit__ = _refuse


class Classes:
    """The rebuilt classes (state: descriptions, classes by key, keys by class)."""

    def __init__(
        self, call: Call, read: Callable[[Data], Any], mark: Callable[[Any], None]
    ) -> None:
        self._call, self._read, self._mark = call, read, mark
        self._described: dict[str, dict[str, Any]] = {}
        self._classes: dict[str, Any] = {}
        self.kinds: dict[type, tuple[str, str]] = {}
        self._waiting: list[tuple[dict[str, Any], list[Data]]] = []
        self._unsealed: list[Any] = []
        self._handles: dict[str, type] = {}
        self._makers: dict[str, Callable[[], Any]] = {}

    def add(self, described: list[dict[str, Any]]) -> None:
        """Rebuild the classes that the program has described."""
        self._described |= {it["key"]: it for it in described}
        for it in described:
            self.find(it["key"])
        while self._waiting:  # the names that functions use may be classes of the same message
            space, used = self._waiting.pop()
            space |= {name: self._read(data) for name, data in used}
        for cls in self._unsealed:
            type.__setattr__(cls, "_njrt_sealed", True)
        self._unsealed.clear()

    def find(self, key: str) -> Any:
        if key not in self._classes:
            described = self._described[key]
            made = self._make(described)
            self._classes[key] = made
            self.kinds[made] = described["form"], key
            if described["form"] != "enum":
                self._finish(made, described)
        return self._classes[key]

    def find_handle(self, name: str) -> type:
        """Return the class of handles for objects of a class of the program."""
        if name not in self._handles:
            short = name.rpartition(":")[2].rpartition(".")[2] or "object"
            made = type(short, (Handle,), {})
            self._handles[name] = made
            self.kinds[made] = "handle", name
        return self._handles[name]

    def make_empty(self, key: str) -> Any:
        """Make an object without running the class's methods."""
        if key not in self._makers:
            self._makers[key] = partial(object.__new__, self.find(key))
        return self._makers[key]()

    # ── making a class ───────────────────────────────────────────────────────────────────────────

    def _make(self, described: Mapping[str, Any]) -> Any:
        name, qualified, module = described["names"]
        space: dict[str, Any] = {"__module__": module, "__qualname__": qualified}
        if described["unhashable"]:
            space["__hash__"] = None
        for member, *how in described["members"]:
            if how[0] != "constant":
                space[member] = self._make_member(member, how)
        bases = tuple(self._read(base) for base in described["bases"])
        if described["form"] == "enum":
            return self._make_enum(name, bases, space, described["values"])
        if described["form"] == "tuple":
            return self._make_tuple(name, bases, space, described)
        if described["form"] == "remote":
            bases = (*(base for base in bases if base in self.kinds), Handle)
        elif described["form"] == "object" and not described.get("parameters", {}).get("frozen"):
            space |= self._make_setters()
        if described["form"] == "error" and "__str__" not in space:
            space["__str__"] = _show_error
        if not described["is_makeable"]:
            space |= self._make_constructor(described)
        if "parameters" in described:
            space |= self._make_fields(described["fields"], described["is_makeable"])
        return Rebuilt(name, _drop_object(bases), space)

    def _finish(self, cls: Any, described: Mapping[str, Any]) -> None:
        """Make a dataclass of a class, and set its constants."""
        if described["form"] == "tuple":
            return
        if "parameters" in described:
            options = dict(described["parameters"])
            if not described["is_makeable"]:
                options |= {"init": False}
            if "__hash__" in cls.__dict__ and not described["unhashable"]:
                options["unsafe_hash"] = False
            dataclasses.dataclass(**options)(cls)
        for name, *how in described["members"]:
            if how[0] == "constant":
                type.__setattr__(cls, name, self._read(how[1]))
        self._unsealed.append(cls)

    def _make_fields(self, fields: list[Data], is_makeable: bool) -> dict[str, Any]:
        """Return the fields of a dataclass; for `repr` and `==` if only the program makes it."""
        space: dict[str, Any] = {"__annotations__": {it[0]: object for it in fields}}
        for name, default, *more in fields:
            factory, options = more or ("", ())
            names = ("init", "repr", "compare", "hash", "kw_only")
            made: dict[str, Any] = dict(zip(names, options, strict=False))
            if not is_makeable:
                made |= {"init": True, "kw_only": True}
            elif default:
                made["default"] = self._read(default[0])
            elif factory:
                made["default_factory"] = FACTORIES[factory]
            space[name] = dataclasses.field(**made)
        return space

    def _make_constructor(self, described: Mapping[str, Any]) -> dict[str, Any]:
        """Return the methods of a class whose objects are made by a call of the program."""
        call, key, name = self._call, described["key"], described["names"][0]

        def make(cls: Any, *args: Any, **named: Any) -> Any:
            if cls is not self._classes[key]:
                raise TypeError(f"contained code cannot derive {cls.__name__} from {name}")
            return call(["class", key], args, named)

        def reduce(self: Any, version: Any) -> Any:  # for copies, which stay here
            held = dict(zip(*list_public(self), strict=True))
            is_plain = has_only_namespace(type(self))
            return partial(object.__new__, type(self)), (), held if is_plain else (None, held)

        def accept(self: Any, *_: Any, **__: Any) -> None: ...

        return {"__new__": make, "__init__": accept, "__reduce_ex__": reduce}

    def _make_setters(self) -> dict[str, Any]:
        """Return the methods that set attributes and mark the object as changed."""
        mark = self._mark

        def set_attribute(self: Any, name: str, value: Any) -> None:
            object.__setattr__(self, name, value)
            mark(self)

        def delete(self: Any, name: str) -> None:
            object.__delattr__(self, name)
            mark(self)

        return {"__setattr__": set_attribute, "__delattr__": delete}

    def _make_tuple(
        self, name: str, bases: tuple[Any, ...], space: dict[str, Any], described: Mapping[str, Any]
    ) -> Any:
        defaults = {it: self._read(value) for it, value in described["defaults"]}
        own = [base for base in bases if base is not tuple]
        if own:
            return type(name, tuple(own), {"__slots__": (), **space})
        names = described["fields"]
        last = [defaults.get(it) for it in names[len(names) - len(defaults) :]]
        base = namedtuple(name, names, defaults=last)  # type: ignore[misc]
        return type(name, (base,), {"__slots__": (), **space})

    def _make_enum(
        self, name: str, bases: tuple[Any, ...], space: dict[str, Any], values: list[Data]
    ) -> Any:
        kind: Any = type(bases[-1])
        held = kind.__prepare__(name, bases)
        for key, value in {**space, **{it: self._read(data) for it, data in values}}.items():
            held[key] = value
        return kind(name, bases, held)

    # ── members ──────────────────────────────────────────────────────────────────────────────────

    def _make_member(self, name: str, how: list[Data]) -> Any:
        match how:
            case ["property", reader, is_settable, setter]:
                return self._make_property(name, reader, is_settable, setter)
            case [kind, None, is_async]:
                made = self._make_call(name, is_async)
                return made if kind == "function" else classmethod(made)
            case [kind, packed, _]:
                made = self.unpack_function(packed)
                return made if kind == "function" else getattr(builtins, kind)(made)
        raise AssertionError(how)

    def _make_call(self, name: str, is_async: bool) -> Any:
        call = self._call

        def method(self: Any, *args: Any, **named: Any) -> Any:
            return call(["method", self, name], args, named, is_async)

        method.__name__ = method.__qualname__ = name
        return method

    def _make_property(self, name: str, reader: Data, is_settable: bool, setter: Data) -> Any:
        call = self._call

        def read(self: Any) -> Any:
            return call(["get", self, name], (), {})

        def write(self: Any, value: Any) -> None:
            call(["set", self, name], (value,), {})

        getter = self.unpack_function(reader) if reader else read
        if not is_settable:
            return property(getter)
        return property(getter, self.unpack_function(setter) if setter else write)

    def unpack_function(self, packed: Data) -> Any:
        """Return a function of the program that runs here."""
        text, qualified, used, defaults, named = packed
        space: dict[str, Any] = {"__builtins__": builtins, "__name__": "program"}
        self._waiting.append((space, used))
        code = marshal.loads(text.encode("latin-1"))
        made = FunctionType(code, space, code.co_name, tuple(map(self._read, defaults)) or None)
        made.__kwdefaults__ = {name: self._read(data) for name, data in named} or None
        made.__qualname__ = qualified
        return made


def _drop_object(bases: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(base for base in bases if base is not object or len(bases) == 1)


def _show_error(self: BaseException) -> str:
    text = self.__dict__.get("_njrt_text")
    return text if type(text) is str else super(type(self), self).__str__()


def resolve(module: str, path: str) -> Any:
    """Return an object of Python's library or builtins, by its name."""
    return attrgetter(path)(sys.modules[module])
