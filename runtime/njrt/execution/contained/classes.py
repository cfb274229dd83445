"""The program's classes as the child rebuilds them: fields, bases, and methods that run there.

    classes.name(Order)            "shop:Order", described once to the child
    classes.find("shop:Order")     the class, for what the child sends

A class of the program is data if its bases are `object`, other such classes, ABC, Generic,
Protocol, Enum, NamedTuple, `pydantic.BaseModel` or exceptions. Data classes of other packages are
data that may only be read. Objects of all other classes are handles.
"""

from __future__ import annotations

import dataclasses
import enum
import sys
from collections.abc import Callable, Collection, Mapping
from types import FunctionType, MemberDescriptorType, ModuleType
from typing import Any

from njrt.execution.contained.contents import StateError
from njrt.execution.contained.known import find_known_name
from njrt.execution.contained.state import FACTORIES, Side
from njrt.execution.contained.travel import pack_function
from njrt.execution.contained.wire import Data, WireError, write
from njrt.execution.guard.allowed import split_words
from njrt.values.introspection import (
    get_class_name,
    get_class_namespace,
    get_module_name,
    get_mro,
    is_standard_module,
)

_BINARY = split_words("add and floordiv lshift matmul mod mul or pow rshift sub truediv xor divmod")
_CALLED = split_words(
    """eq ne lt le gt ge hash len iter next contains getitem setitem delitem bool call
    aiter anext str repr format getattr missing reversed index int float abs neg pos
    invert round"""
)
SPECIAL = frozenset(
    f"__{prefix}{name}__"
    for names, prefixes in ((_CALLED, ("",)), (_BINARY, ("", "r", "i")))
    for name in names
    for prefix in prefixes
)
"""The special methods of an own class that the code may call."""
_NO_OWNERS = (type, ModuleType, BaseException, enum.Enum, str, bytes, int, float)
_GENERIC = ("typing", "typing_extensions")
_ABSTRACT = (*_GENERIC, "abc", "collections.abc")
_METACLASSES = ("type", "ABCMeta", "EnumMeta", "EnumType", "ModelMetaclass", "_ProtocolMeta")
MODEL_METHODS = ("model_dump", "model_dump_json", "model_copy", "__eq__", "__repr__", "__str__")
"""Methods of pydantic's models that the code may call."""


class Classes:
    """The classes that the child knows (state: by key; descriptions that were not sent yet)."""

    def __init__(
        self, packages: Collection[str], has_rule: Callable[[Any], bool], side: Side
    ) -> None:
        self._packages = frozenset({"__main__", *packages})
        self._has_rule, self._side = has_rule, side
        self._keys: dict[type, str] = {}
        self._found: dict[str, type] = {}
        self._forms: dict[type, str] = {}
        self._makeable: dict[type, bool] = {}
        self._new: list[Data] = []

    def name(self, cls: type) -> str:
        """Return the key of a class that is data, an enum or an exception."""
        if cls not in self._keys:
            key = f"{get_module_name(cls)}:{get_class_name(cls)}"
            while key in self._found:
                key += "'"
            self._keys[cls], self._found[key] = key, cls
            self._new.append(self._describe(cls, key))
        return self._keys[cls]

    def find(self, key: str) -> type:
        """Return the class for a key that was sent; raise WireError for others."""
        if key not in self._found:
            raise WireError("no such class")
        return self._found[key]

    def take_new(self) -> list[Data]:
        """Return the descriptions that were not sent yet, bases first."""
        new, self._new = self._new, []
        return new

    def is_own(self, cls: type) -> bool:
        """Return whether a class is the program's own, by its module."""
        name = get_module_name(cls)
        top = name.partition(".")[0]
        if top in self._packages:
            return True
        if top in ("builtins", "njrt") or is_standard_module(name):
            return False
        return "-packages" not in str(getattr(sys.modules.get(name), "__file__", None))

    def find_form(self, cls: type) -> str:
        """Return what objects of a class are: "object", "tuple", "error" or "enum" for data,
        "remote" for other own classes, whose members are used by calls, or "handle".
        """  # fmt: skip
        meta = type(cls)
        if meta.__hash__ is not type.__hash__ or meta.__eq__ is not type.__eq__:
            return "handle"
        if cls not in self._forms:
            form = self._classify(cls)
            is_remote = form == "handle" and self.is_own(cls) and not issubclass(cls, _NO_OWNERS)
            self._forms[cls] = "remote" if is_remote else form
        return self._forms[cls]

    def may_change(self, cls: type) -> bool:
        """Return whether the code may change objects of a class."""
        parameters = getattr(cls, "__dataclass_params__", None)
        is_frozen = parameters is not None and parameters.frozen
        return self.is_own(cls) and not (is_frozen or _get_config(cls).get("frozen"))

    def may_make(self, cls: type) -> bool:
        """Return whether the child makes objects of a class itself, and the program takes them."""
        if cls not in self._makeable:
            self._makeable[cls] = self._is_makeable(cls)
        return self._makeable[cls]

    # ── what a class is ──────────────────────────────────────────────────────────────────────────

    def _classify(self, cls: type) -> str:
        bases = get_mro(cls)
        if type(cls).__name__ not in _METACLASSES:
            return "handle"
        if issubclass(cls, enum.Enum):
            return "enum" if self.is_own(cls) or find_known_name(cls) else "handle"
        if issubclass(cls, BaseException):
            return "error"
        is_record = dataclasses.is_dataclass(cls) or _is_named_tuple(cls) or _is_model(cls)
        if not (self.is_own(cls) or is_record):
            return "handle"
        if not all(self._is_data_base(base) or (is_record and base is cls) for base in bases):
            return "handle"
        if any(_overrides_reading(base) for base in bases):
            return "handle"
        if issubclass(cls, tuple):
            return "tuple" if _is_named_tuple(cls) else "handle"
        return "object"

    def _is_data_base(self, base: type) -> bool:
        if base in (object, tuple) or _is_base_model(base) or self.is_own(base):
            return True
        return dataclasses.is_dataclass(base) or get_module_name(base) in _ABSTRACT

    def _is_makeable(self, cls: type) -> bool:
        form = self.find_form(cls)
        if form == "tuple":
            return True
        if form in ("enum", "handle", "remote") or _is_model(cls) or not self.is_own(cls):
            return False
        for base in get_mro(cls):
            held = get_class_namespace(base)
            if base is object or not self.is_own(base):
                continue
            for name in ("__init__", "__new__", "__setattr__", "__init_subclass__"):
                if name in held and not is_generated(held[name]):
                    return False
            if "__post_init__" in held and not self._pack(held["__post_init__"]):
                return False
        fields = getattr(cls, "__dataclass_fields__", {}).values()
        return all(_write_field(field, self._write) is not None for field in fields)

    # ── descriptions ─────────────────────────────────────────────────────────────────────────────

    def _describe(self, cls: type, key: str) -> Data:
        form, is_own = self.find_form(cls), self.is_own(cls)
        bases = [self._name_base(base) for base in cls.__bases__]
        held = get_class_namespace(cls)
        described: dict[str, Data] = {
            "key": key,
            "names": [cls.__name__, cls.__qualname__, get_module_name(cls)],
            "form": form,
            "bases": [base for base in bases if base is not None],
            "is_makeable": self.may_make(cls),
            "members": [],
            "unhashable": held.get("__hash__", 0) is None,
        }
        if form == "enum":
            described["values"] = [
                [name, self._write(it._value_)]
                for name, it in cls.__members__.items()  # type: ignore[attr-defined]
            ]
        elif form == "tuple":
            described["fields"] = list(getattr(cls, "_fields", ()))
            described["defaults"] = [
                [name, self._write(it)] for name, it in getattr(cls, "_field_defaults", {}).items()
            ]
        elif "__dataclass_fields__" in held:
            described |= _describe_dataclass(cls, held, self._write)
        elif _is_model(cls):
            described["members"] = [[it, "function", None, False] for it in MODEL_METHODS]
        if form == "remote":
            own = [get_class_namespace(base) for base in get_mro(cls)[::-1] if self.is_own(base)]
            held = {name: member for each in own for name, member in each.items()}
        for name, member in held.items() if is_own else ():
            if found := self._describe_member(cls, name, member):
                described["members"].append([name, *found])
        return described

    def _name_base(self, base: type) -> Data:
        known = find_known_name(base)
        if get_module_name(base) in _GENERIC:
            return None
        if known:
            return ["known", *known]
        if self.find_form(base) in ("handle", "remote") or _is_base_model(base):
            return None
        return ["class", self.name(base)]

    def _write(self, value: Any) -> Data:
        """Return the data of a value, or ["unknown"] if it is no plain value or enum member."""
        data = write(value)
        if data is None and value is not None:
            is_special = isinstance(value, enum.Enum | type)
            data = self._side.write_special(value) if is_special else None
            return ["unknown"] if data is None else data
        return data

    def _pack(self, function: Any, cls: type | None = None) -> Data:
        """Return a method as data if it travels: of a class whose objects are data."""
        if self._has_rule(function) or (cls is not None and self.find_form(cls) == "remote"):
            return None
        return pack_function(function, self._side, self._may_name)

    def _may_name(self, cls: type) -> bool:
        return (
            find_known_name(cls) is not None or self.find_form(cls) == "enum" or self.may_make(cls)
        )

    def _describe_member(self, cls: type, name: str, member: Any) -> list[Data] | None:
        """Return how the child gets a member of a class: its code, or None for a call."""
        if name == "__post_init__" and (packed := self._pack(member)):
            return ["function", packed, False]
        if not is_callable_name(name) or name.startswith("model_") or is_generated(member):
            return None
        match member:
            case FunctionType():
                return ["function", self._pack(member, cls), is_async(member)]
            case property(fget=read, fset=write_):
                setter = write_ and self._pack(write_, cls)
                return ["property", self._pack(read, cls), bool(write_), setter]
            case classmethod() | staticmethod():
                inner = member.__func__
                return [type(member).__name__, self._pack(inner, cls), is_async(inner)]
        if type(member) is MemberDescriptorType:
            return None
        if hasattr(type(member), "__get__"):
            if callable(member):
                return ["function", None, False]
            return ["property", None, hasattr(type(member), "__set__"), None]
        if name in getattr(cls, "__dataclass_fields__", {}) or self.find_form(cls) == "enum":
            return None
        data = self._write(member)
        return None if data == ["unknown"] else ["constant", data]


def is_callable_name(name: str) -> bool:
    """Return whether the code may use a member of this name."""
    return name[:1] != "_" or name in SPECIAL


def is_async(function: Any) -> bool:
    """Return whether a function is a coroutine function."""
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    return bool(flags & 0x80)


def is_generated(member: Any) -> bool:
    """Return whether a method was made by `dataclasses`, which the child does itself."""
    code = getattr(member, "__code__", None)
    if code is None:
        return False
    return "__create_fn__" in code.co_qualname or code.co_filename == dataclasses.__file__


def _is_named_tuple(cls: type) -> bool:
    return issubclass(cls, tuple) and type(getattr(cls, "_fields", None)) is tuple


def _is_base_model(cls: type) -> bool:
    return cls.__name__ == "BaseModel" and get_module_name(cls) == "pydantic.main"


def _is_model(cls: type) -> bool:
    return any(map(_is_base_model, get_mro(cls)))


def _get_config(cls: type) -> Mapping[str, Any]:
    config = getattr(cls, "model_config", None) if _is_model(cls) else None
    return config if isinstance(config, dict) else {}


def _overrides_reading(base: type) -> bool:
    if base is object or _is_base_model(base):
        return False
    held = get_class_namespace(base)
    is_property = isinstance(held.get("__dict__"), property)
    return is_property or type(held.get("__getattribute__")) is FunctionType


def _describe_dataclass(
    cls: type, held: Mapping[str, Any], write_value: Callable[[Any], Data]
) -> dict[str, Data]:
    """Return the parameters of a dataclass and its own fields, in their order."""
    parameters = held["__dataclass_params__"]
    names = ("init", "repr", "eq", "order", "unsafe_hash", "frozen")
    inherited = [getattr(base, "__dataclass_fields__", {}) for base in get_mro(cls)[1:]]
    fields = [
        field
        for name, field in held["__dataclass_fields__"].items()
        if all(each.get(name) is not field for each in inherited)
    ]
    return {
        "parameters": {name: getattr(parameters, name) for name in names},
        "fields": [_write_field(it, write_value) or [it.name, ["unknown"]] for it in fields],
    }


def _write_field(field: Any, write_value: Callable[[Any], Data]) -> Data:
    """Return a field of a dataclass; None if the child cannot make objects with it."""
    default, factory = field.default, field.default_factory
    is_known = factory is dataclasses.MISSING or factory in FACTORIES.values()
    is_plain_field = getattr(field._field_type, "name", "") == "_FIELD"
    data = [] if default is dataclasses.MISSING else [write_value(default)]
    if field.name[:1] == "_" or not (is_known and is_plain_field) or data == [["unknown"]]:
        return None
    name = "" if factory is dataclasses.MISSING else factory.__name__
    options = [field.init, field.repr, field.compare, field.hash, field.kw_only]
    return [field.name, data, name, options]


def find_method(classes: Classes, cls: type, name: str) -> Any:
    """Return the member of an own class that the code may call or read; None for pydantic's own.

    Raises StateError for names with an underscore, and members of other classes.
    """
    if not is_callable_name(name):
        raise StateError(f"`{name}` is refused in contained code")
    for base in get_mro(cls):
        if name in get_class_namespace(base):
            if classes.is_own(base):
                return get_class_namespace(base)[name]
            if name in MODEL_METHODS and _is_base_model(base):
                return None
            break
    raise StateError(f"{get_class_name(cls)} has no method `{name}` that contained code may call")
