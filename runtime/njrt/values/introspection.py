"""Read the attributes and members of objects without running any of their code.

    class Item:                    read_attributes(item)   {"name": "a", "_price": 2}
        total = property(...)      collect_members(Item)   {"total": <property>, "__init__": ...}
        def __getattr__(self, n): ...   never called

Not detected: attributes that exist only through a property or `__getattr__`, and the fields of
extension types.
"""

from __future__ import annotations

import enum
import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.machinery import ModuleSpec
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    ModuleType,
)
from typing import Any, Final, TypeGuard, TypeVar

from njrt.data.outcome import UserValue

_get_qualified_name = type.__dict__["__qualname__"].__get__
_get_bases = type.__dict__["__bases__"].__get__
_get_module = type.__dict__["__module__"].__get__
_get_module_namespace = vars(ModuleType)["__dict__"].__get__

_STANDARD_FOLDER = enum.__file__.rpartition("enum.")[0]
_LIBRARIES = frozenset([
    "njrt", "pydantic", "pydantic_core", "attr", "attrs", "typing_extensions", "numpy", "pandas",
    "django", "sqlalchemy",
])  # fmt: skip
_HEAP_TYPE = 1 << 9
"""The flag Py_TPFLAGS_HEAPTYPE: the class was made by a class statement."""
VALUE_CLASSES = {
    "datetime": ("date", "time", "datetime", "timedelta", "timezone"),
    "zoneinfo": ("ZoneInfo",),
    "decimal": ("Decimal",),
    "fractions": ("Fraction",),
    "uuid": ("UUID",),
}
"""Standard library classes by module, whose instances are values that cannot change."""

T = TypeVar("T")
Namespace = dict[str, Any]
"""The names and objects of a class or instance as they are stored, neither bound nor called."""

Slot = tuple[str, MemberDescriptorType]
"""The name of a slot, mangled if it is private, and the descriptor that reads and sets it."""

identify: Callable[[UserValue], int] = object.__hash__
"""Return `id` with its bits in another order, without the audit event of each call of `id`."""

get_mro: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
"""Return the classes that a class inherits from, itself first and `object` last."""


def list_bases(cls: type) -> tuple[type, ...]:
    """Return the classes named in the class statement of `cls`, except `object`."""
    return tuple(base for base in _get_bases(cls) if base is not object)


get_class_namespace: Callable[[type], Namespace] = type.__dict__["__dict__"].__get__
"""Return the names in a class's own body, as a read-only view."""


def get_class_name(cls: type) -> str:
    """Return a class's name as near its definition: `Order.Line`, not `f.<locals>.Order.Line`."""
    qualified: str = _get_qualified_name(cls)
    return str.rpartition(qualified, "<locals>.")[2]


def get_module_name(cls: type) -> str:
    """Return the name of a class's module, or an empty string."""
    name = _get_module(cls)
    return name if type(name) is str else ""


def is_standard_module(name: str) -> bool:
    """Return whether the loaded module of this name is Python's, not the program's `calendar.py`.

    A module that is not loaded is judged by its name, an extension module too.
    """
    top = name.partition(".")[0]
    if top not in sys.stdlib_module_names:
        return False
    module = sys.modules.get(top)
    if module is None:
        return True
    namespace = _get_module_namespace(module) if is_a(module, ModuleType) else {}
    spec: Any = namespace.get("__spec__")
    return is_standard_origin(spec.origin if is_a(spec, ModuleSpec) else namespace.get("__file__"))


def is_standard_origin(origin: Any) -> bool:
    """Return whether a library-named module with this origin (`ModuleSpec.origin`) is Python's."""
    if type(origin) is not str:
        return False
    is_installed = "-packages" in origin.removeprefix(_STANDARD_FOLDER)
    is_source = origin.endswith((".py", ".pyc", ".njpy"))
    return not is_source or (origin.startswith(_STANDARD_FOLDER) and not is_installed)


def is_user_class(cls: type) -> bool:
    """Return whether a class is the program's own, rather than Python's or a schema library's."""
    name = _get_module(cls)
    if type(name) is not str or name == "builtins":  # the most frequent case
        return type(name) is not str
    return name.partition(".")[0] not in _LIBRARIES and not is_standard_module(name)


def find_member(cls: type, name: str) -> Any:
    """Return the member `name`, unbound, of a class or its nearest ancestor with it; else None."""
    for base in get_mro(cls):
        namespace = get_class_namespace(base)
        if name in namespace:
            return namespace[name]
    return None


def find_meaning(member: object) -> str:
    """Return the value of an enum's member if it is a text other than its name; otherwise ""."""
    value, name = getattr(member, "value", None), getattr(member, "name", "")
    return value if isinstance(value, str) and value.lower() != name.lower() else ""


def list_user_ancestors(cls: type) -> tuple[type, ...]:
    """Return `cls` and its ancestors, as far as they are the program's own."""
    return tuple(base for base in get_mro(cls) if is_user_class(base))


def collect_members(cls: type) -> Namespace:
    """Return everything that a class and its own ancestors define, the class's members first."""
    members: Namespace = {}
    for base in list_user_ancestors(cls):
        for name, member in get_class_namespace(base).items():
            members.setdefault(name, member)
    return members


def read_attributes(value: UserValue) -> Namespace:
    """Return the attributes that an object itself holds, in its `__dict__` or its slots."""
    return make_attribute_reader(type(value))(value)


def make_attribute_reader(cls: type) -> Callable[[UserValue], Namespace]:
    """Return a function that reads the attributes of a class's instances."""
    if any(base is ModuleType for base in get_mro(cls)):
        return lambda module: dict(_get_module_namespace(module))
    slots, nothing = list_slots(cls), Namespace()
    read_namespace = make_namespace_reader(cls, nothing)
    if not slots:
        return read_namespace
    return lambda value: {**dict(read_slots(slots, value)), **read_namespace(value)}


def make_namespace_reader(cls: type, missing: T) -> Callable[[UserValue], Namespace | T]:
    """Make a reader of a class's instances' real `__dict__`; it returns `missing` without one."""
    for base in get_mro(cls):
        descriptor = get_class_namespace(base).get("__dict__")
        if is_exactly(descriptor, GetSetDescriptorType, MemberDescriptorType):
            get: Callable[[UserValue], Any] = descriptor.__get__  # type: ignore[union-attr]
            return lambda value: found if type(found := get(value)) is dict else missing
    return lambda value: missing


def list_slots(cls: type) -> tuple[Slot, ...]:
    """Return the slots of a class and its ancestors, the ancestors' first, with mangled names."""
    return tuple(
        (name, member)
        for base in reversed(get_mro(cls))
        if "__slots__" in (namespace := get_class_namespace(base))
        for name, member in namespace.items()
        if type(member) is MemberDescriptorType
    )


def read_slots(slots: tuple[Slot, ...], value: UserValue) -> Iterator[tuple[str, Any]]:
    """Yield the set slots of an object, with their values."""
    for name, member in slots:
        with suppress(AttributeError):  # the slot is not set
            yield name, member.__get__(value)


def set_raw(value: Any, name: str, *new: Any) -> None:
    """Set an attribute, or without a new value delete it, without running the class's methods."""
    member = find_member(type(value), name)
    if type(member) is not MemberDescriptorType:
        namespace: Any = make_namespace_reader(type(value), None)(value)
        if new:
            namespace[name] = new[0]
        else:
            namespace.pop(name, None)
    elif new:
        member.__set__(value, *new)
    elif name in read_attributes(value):
        member.__delete__(value)


def has_known_state(cls: type) -> bool:
    """Return whether all state of a class's instances is in attributes and slots.

    This holds if the class leaves pickling to `object` and has no extension type among its
    ancestors.
    """
    own_size = cls.__basicsize__ - 8 * len(list_slots(cls))
    is_extension = own_size > object.__basicsize__ + 16 or not cls.__flags__ & _HEAP_TYPE
    return not is_extension and all(
        find_member(cls, name) is find_member(object, name)
        for name in ("__reduce__", "__reduce_ex__")
    )


def is_exactly(value: UserValue, *classes: type) -> bool:
    """Return whether a value's type is exactly one of `classes`, compared by identity."""
    cls = type(value)
    for known in classes:  # noqa: SIM110 - without a generator: this is asked of every value
        if cls is known:
            return True
    return False


def is_a(value: UserValue, cls: type) -> bool:
    """`isinstance` that checks only the real type: an object's `__class__` may be a property."""
    return type.__subclasscheck__(cls, type(value))


def is_exception_class(value: UserValue) -> TypeGuard[type[BaseException]]:
    """Return whether a value is an exception class by its bases; its `__class__` is not trusted."""
    return is_a(value, type) and any(base is BaseException for base in get_mro(value))


CacheWrapperType: Final = type(functools.cache(is_exactly))
"""The class of functions that `functools.cache` and `functools.lru_cache` return."""


def uncache(value: Any) -> Any:
    """Return a function wrapped by `functools.cache` or `lru_cache`; any other value unchanged."""
    if type(value) is not CacheWrapperType:
        return value
    wrapped = value.__dict__.get("__wrapped__")
    return wrapped if is_exactly(wrapped, FunctionType, BuiltinFunctionType) else value


def unwrap_function(function: FunctionType) -> FunctionType:
    """Return the function wrapped with `functools.wraps`, at most a few layers down."""
    for _ in range(8):
        wrapped = function.__dict__.get("__wrapped__")
        if type(wrapped) is not FunctionType:
            break
        function = wrapped
    return function
