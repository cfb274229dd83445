"""The checks that guarded code makes while it runs: reading, setting and matching attributes.

    getattr(order, "total")            allowed
    getattr(order, "__cl" + "ass__")   AttributeError: `__class__` is refused in a block
    template.format(order)             allowed, unless the text contains "{0.__class__}"
    queue._loop                        AttributeError: an internal attribute of Python's library
    json.JSONEncoder.default = f       AttributeError: a block cannot change Python's library

`rewrite.py` inserts calls to these functions into the code. A check sees the object and the name, wherever they
come from. Not detected: attributes that C functions read by themselves; `module_proxies.py` replaces the functions
that take attribute names.
"""

from __future__ import annotations

import builtins
import re
import sys
import weakref
from _string import formatter_field_name_split  # type: ignore[import-not-found]
from collections import UserString
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field
from functools import lru_cache, partial
from string import Formatter
from types import (
    BuiltinFunctionType,
    FunctionType,
    GenericAlias,
    GetSetDescriptorType,
    MappingProxyType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

from njrt.execution.guard.allowed import (
    FORMAT_METHODS,
    LOOP_METHODS,
    REFUSED_ATTRIBUTES,
    REFUSED_BINDINGS,
    REGISTERING_METHODS,
    SAFE_NAMES,
    is_checked_name,
)
from njrt.execution.source_cache import is_snippet
from njrt.outcome import UserValue
from njrt.values.introspection import (
    get_class_namespace,
    get_module_name,
    get_mro,
    is_a,
    is_standard_module,
)

_REFUSED_IN_FORMAT = re.compile(
    rf"\{{[^{{}}]*[.\[]\s*(?P<name>{'|'.join(sorted(REFUSED_ATTRIBUTES))})\b"
)
_READS_CHECKED_NAME = re.compile(
    rf"\{{[^{{}}]*\.(_|{'|'.join(sorted(REFUSED_ATTRIBUTES | FORMAT_METHODS | LOOP_METHODS))})"
)

_get_self_class = vars(super)["__self_class__"].__get__
_get_this_class = vars(super)["__thisclass__"].__get__
_get_partial_function = vars(partial)["func"].__get__

_METACLASS_HOOKS = ("__getattr__", "__getattribute__", "__dict__", "__match_args__")


class ComputingModule(ModuleType):
    """An imported module in a block: read-only, with only the members that compute."""

    def __setattr__(self, name: str, value: UserValue) -> None:
        raise AttributeError(f"a block cannot change the module `{self.__name__}`")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a block cannot change the module `{self.__name__}`")

    def __getattr__(self, name: str) -> UserValue:
        module = self.__name__
        if hasattr(sys.modules.get(module), name):
            raise AttributeError(f"`{module}.{name}` is refused in a block")
        raise AttributeError(f"module '{module}' has no attribute '{name}'")


def find_refused_attribute(text: str) -> str | None:
    """Return the refused attribute that a format string reads, such as `"{0.__class__}"`, or None."""
    found = _REFUSED_IN_FORMAT.search(text) if "{" in text else None
    return found["name"] if found else None


def read_attribute(value: UserValue, name: str) -> UserValue:
    """Do `value.name` for a name that must be checked against the value."""
    if name[0] == "_" != name[1:2] and name not in REFUSED_ATTRIBUTES:
        internal_names = _list_internal_names(type(value))
        if (
            find_target(value) is value
            and internal_names is not None
            and name not in internal_names
        ):
            return builtins.getattr(value, name)
    if name in FORMAT_METHODS:
        return get_format_method(value, name)
    check_read(value, name)
    match name:
        case "__dict__":
            return read_namespace(value)
        case "__annotations__" | "__members__":
            found = builtins.getattr(value, name)
            return dict(found) if type(found) in (dict, MappingProxyType) else found
        case "__setattr__" | "__delattr__":
            return _get_setter(value, name)
        case _:
            return builtins.getattr(value, name)


def find_target(value: UserValue) -> UserValue:
    """Return the object that holds the attributes: an alias's class, a method's function, or the value itself."""
    cls = type(value)
    if cls is MethodType:
        return value.__func__
    if is_a(value, partial):
        return _get_partial_function(value)
    if is_a(value, GenericAlias) or get_module_name(cls) in ("typing", "typing_extensions"):
        try:
            return object.__getattribute__(value, "__origin__")
        except AttributeError:
            return value
    if cls in weakref.ProxyTypes:
        is_class = issubclass(value.__class__, type)
        return value.__mro__[0] if is_class else value.__init__.__self__
    return value


def check_read(value: UserValue, name: str) -> None:
    """Raise AttributeError if this attribute of this value is refused."""
    if (target := find_target(value)) is not value:
        check_read(target, name)
    if name in REFUSED_ATTRIBUTES:
        raise make_refusal_error(name)
    if name in LOOP_METHODS:
        cls = value if is_a(value, type) else type(value)
        if any(get_module_name(base) == "asyncio.events" for base in get_mro(cls)):
            raise make_refusal_error(name)
    elif name in REGISTERING_METHODS:
        if is_a(value, type):  # a metaclass's `register` takes any class
            check_store(value)
            if type in get_mro(value):
                raise make_refusal_error(name)
    elif is_checked_name(name) and name not in FORMAT_METHODS and is_internal(value, name):
        raise AttributeError(
            f"`{name}` of this {type(value).__name__} is internal to Python's library: it is refused in a block"
        )


_READABLE = frozenset(
    f"__{word}__" for word in ("dict", "annotations", "members", "setattr", "delattr", "dataclass_fields")
)  # fmt: skip
"""Checked names that `read_attribute` serves in a safe form, or that hold only data."""


def is_internal(value: UserValue, name: str) -> bool:
    """Return whether the attribute belongs to Python's library, not to the program or to the block."""
    if name in _READABLE:
        return False
    cls = type(value)
    if is_a(value, ModuleType):
        return cls is ComputingModule  # any other module was handed over by the program
    if cls is FunctionType and name == "__get__":
        return False
    if is_a(value, type):
        lineages = [get_mro(value), get_mro(cls)]
    elif is_a(value, super):
        lineages = [_list_classes_after(value), get_mro(cls)]
    else:
        lineages = [get_mro(cls)]
    for lineage in lineages:
        for base in lineage:
            if name in get_class_namespace(base):
                return is_library_class(base)
    return any(name in _list_used_names(base) for base in lineages[0] if is_library_class(base))


def _list_classes_after(proxy: Any) -> tuple[type, ...]:
    """Return the classes that a `super` object searches for attributes."""
    lineage = get_mro(_get_self_class(proxy))
    return lineage[lineage.index(_get_this_class(proxy)) + 1 :]


def is_library_class(cls: type) -> bool:
    """Return whether a class belongs to Python, its standard library or the runtime."""
    return _is_library_module(get_module_name(cls))


def _is_library_module(name: str) -> bool:
    return name.partition(".")[0] == "njrt" or is_standard_module(name)


_internal_names: dict[int, tuple[weakref.ref[type], frozenset[str] | None]] = {}
"""Keyed by the class's id, because a metaclass may define `__eq__`."""


def _list_internal_names(cls: type) -> frozenset[str] | None:
    """Return the names that may be internal in a class's instances; None for kinds such as classes and modules."""
    known = _internal_names.get(id(cls))
    if known is not None and known[0]() is cls:
        return known[1]
    lineage, names = get_mro(cls), None
    if not {type, super, ModuleType, FunctionType, Field}.intersection(lineage):
        library = [base for base in lineage if is_library_class(base)]
        names = frozenset().union(
            *map(get_class_namespace, library), *map(_list_used_names, library)
        )
    number = id(cls)
    _internal_names[number] = weakref.ref(cls, lambda _: _internal_names.pop(number, None)), names
    return names


@lru_cache(maxsize=256)
def _list_used_names(cls: type) -> frozenset[str]:
    """Return the names in the methods of a library class, which may be attributes of its instances."""
    methods = [member for member in get_class_namespace(cls).values() if is_a(member, FunctionType)]
    return frozenset(name for method in methods for name in method.__code__.co_names)


def read_namespace(value: UserValue) -> Mapping[str, UserValue]:
    """Do `value.__dict__`: the real one for plain objects, a copy without internal names for all others."""
    namespace = value.__dict__
    if not (is_a(value, type) or is_a(value, ModuleType)) and not any(
        is_library_class(base) and base is not object for base in get_mro(type(value))
    ):
        found: Mapping[str, UserValue] = namespace
        return found
    is_library = is_a(value, type) and is_library_class(value)
    names = [name for name in namespace if type(name) is str and name]
    shown = {
        name: dict(namespace[name])
        if name in REFUSED_BINDINGS and is_a(namespace[name], dict)
        else namespace[name]
        for name in names
        if name not in REFUSED_ATTRIBUTES
        and not (is_library and name in FORMAT_METHODS | LOOP_METHODS)
        and not (name[0] == "_" and name not in SAFE_NAMES and is_internal(value, name))
    }
    return MappingProxyType(shown) if is_a(value, type) else shown


def check_store(value: UserValue, name: str = "") -> UserValue:
    """Return `value` if a block may set its attributes; else raise AttributeError."""
    cls = type(value)
    if (target := find_target(value)) is not value:
        check_store(target, name)
    if name:
        check_read(value, name)
    elif _list_internal_names(cls) is not None:
        return value
    if is_a(value, type):
        is_library = is_library_class(value)
    elif cls is FunctionType:
        is_library = _is_library_module(value.__module__ or "")
    else:
        is_library = cls is ComputingModule or is_a(value, Field)
    if is_library:
        shown = builtins.getattr(value, "__name__", cls.__name__)
        raise AttributeError(
            f"`{shown}` belongs to Python's library: a block cannot set its attributes"
        )
    return value


def check_match_class(cls: UserValue) -> UserValue:
    """Return the class of a positional pattern, after checking the attributes that the positions read."""
    if not is_a(cls, type):
        return cls
    check_metaclass(cls)
    for base in get_mro(cls):
        names = get_class_namespace(base).get("__match_args__")
        if names is None:
            continue
        if type(names) is not tuple or any(type(name) is not str for name in names):
            raise AttributeError("`__match_args__` must be a tuple of names")
        for name in names:
            if name in REFUSED_ATTRIBUTES or (is_checked_name(name) and type(cls) is not type):
                raise make_refusal_error(name)
            check_class_attribute(cls, name)
        break
    return cls


def check_class_attribute(cls: type, name: str) -> None:
    """Raise AttributeError if this attribute of a class's instances must not be read unchecked."""
    if name in REFUSED_ATTRIBUTES or (is_checked_name(name) and is_internal(cls, name)):
        raise make_refusal_error(name)
    if name in FORMAT_METHODS and any(base in (str, UserString) for base in get_mro(cls)):
        raise make_refusal_error(name)


def check_metaclass(cls: type) -> None:
    """Raise AttributeError if the metaclass can supply attributes that the class does not have."""
    for base in get_mro(type(cls)):
        namespace = get_class_namespace(base)
        for hook in _METACLASS_HOOKS:
            if hook in namespace and not _is_written_elsewhere(namespace[hook], base):
                raise make_refusal_error(hook)


def _is_written_elsewhere(value: UserValue, owner: type) -> bool:
    """Return whether a class member was written in C for this class, or in Python outside a block.

    The class's module name does not prove this, because a block's code can set it.
    """
    if type(value) is FunctionType:
        return not is_snippet(value.__code__.co_filename)
    is_native = type(value) in (WrapperDescriptorType, GetSetDescriptorType)
    return is_native and value.__objclass__ is owner


def get_format_method(value: UserValue, name: str) -> Callable[..., UserValue]:
    """Return a value's method `format` or `format_map`; for a string, one that checks the attributes in it."""
    if type(value) is str and _READS_CHECKED_NAME.search(value) is None:
        plain: Callable[..., UserValue] = builtins.getattr(value, name)
        return plain
    method: Any = builtins.getattr(value, name)
    if is_a(method, MethodDescriptorType) and method.__objclass__ is str:
        return lambda text, *args, **named: _format(method, text, args, named)
    if is_a(method, BuiltinFunctionType) and is_a(method.__self__, str):
        return lambda *args, **named: _format(getattr(str, name), method.__self__, args, named)
    function = method.__func__ if is_a(method, MethodType) else method
    if function in (UserString.format, UserString.format_map):
        plain = getattr(str, name)
        if method is function:
            return lambda text, *args, **named: _format(plain, text.data, args, named)
        return lambda *args, **named: _format(plain, method.__self__.data, args, named)
    checked: Callable[..., UserValue] = method
    return checked


def _format(
    method: Callable[..., UserValue],
    text: UserValue,
    arguments: tuple[UserValue, ...],
    named: dict[str, UserValue],
) -> UserValue:
    plain = get_plain_name(text)
    if type(plain) is not str or _READS_CHECKED_NAME.search(plain) is None:
        return method(plain, *arguments, **named)
    if method is str.format:
        return _CheckedFormatter().vformat(plain, arguments, named)
    return _CheckedFormatter().vformat(plain, (), *arguments)


class _CheckedFormatter(Formatter):
    """Formats a string as `str.format` does, checking the attributes that the string names."""

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        first, rest = formatter_field_name_split(field_name)
        value = self.get_value(first, args, kwargs)
        for is_attribute, name in rest:
            value = _getattr(value, name) if is_attribute else value[name]
        return value, first


def get_plain_name(name: UserValue) -> UserValue:
    """Return a name as an exact str, because a subclass of str could compare equal to something else."""
    return str.__str__(name) if is_a(name, str) else name


def make_refusal_error(name: str) -> AttributeError:
    """Return the error for a refused attribute."""
    return AttributeError(f"`{name}` is refused in a block")


def _getattr(value: UserValue, name: str, *default: UserValue) -> UserValue:
    name = get_plain_name(name)
    if (
        type(name) is not str
        or not name
        or not (name in REFUSED_ATTRIBUTES or is_checked_name(name))
    ):
        return builtins.getattr(value, name, *default)
    if default and name not in REFUSED_ATTRIBUTES and not hasattr(value, name):
        return default[0]
    return read_attribute(value, name)


def _setattr(value: UserValue, name: str, new: UserValue) -> None:
    builtins.setattr(value, _check_stored_name(value, name), new)


def _delattr(value: UserValue, name: str) -> None:
    builtins.delattr(value, _check_stored_name(value, name))


def _check_stored_name(value: UserValue, name: UserValue) -> str:
    plain = get_plain_name(name)
    if type(plain) is str and plain in REFUSED_ATTRIBUTES | REFUSED_BINDINGS | {"__dict__"}:
        raise make_refusal_error(plain)
    is_checked = type(plain) is str and plain != "" and is_checked_name(plain)
    check_store(value, plain if is_checked else "")
    stored: str = plain
    return stored


def _get_setter(value: UserValue, name: str) -> Callable[..., None]:
    """`__setattr__` or `__delattr__` of a value, with a check of the name and the object that it is called with."""
    method: Callable[..., None] = builtins.getattr(value, name)
    if is_a(method, FunctionType) or is_a(builtins.getattr(method, "__func__", None), FunctionType):
        return method
    owner = builtins.getattr(method, "__self__", method)

    def set_checked(*args: UserValue) -> None:
        target, attribute, *rest = args if owner is method else (owner, *args)
        plain = _check_stored_name(target, attribute)
        method(*[target] * (owner is method), plain, *rest)

    return set_checked


def _vars(*values: UserValue) -> Mapping[str, UserValue]:
    if len(values) != 1:
        raise TypeError("vars() takes one object in a block")
    try:
        return read_namespace(values[0])
    except AttributeError:
        raise TypeError("vars() argument must have __dict__ attribute") from None


CHECKED_BUILTINS: MappingProxyType[str, Any] = MappingProxyType(
    {"getattr": _getattr, "setattr": _setattr, "delattr": _delattr, "vars": _vars}
)
"""The functions that guarded code calls instead of these builtins."""


def iterate_fields(cls: type) -> Iterator[Any]:
    """Yield all dataclass fields that a class defines or inherits."""
    for base in get_mro(cls):
        namespace = get_class_namespace(base)
        fields = namespace.get("__dataclass_fields__")
        yield from fields.values() if type(fields) is dict else ()
        yield from (member for member in namespace.values() if is_a(member, Field))
