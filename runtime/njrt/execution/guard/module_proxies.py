"""The modules that guarded code imports: they have only the members that compute.

    import json                      a ComputingModule: json.loads, json.dumps, ...; no json.codecs
    from operator import attrgetter  a function that checks the names that it is called with
    import numpy                     Python's own import: only if the prompt names the module (`check.py`)

The members are the names in `__all__`, or the public names, without the lists of `allowed.py` and without members from
a module that may not be imported. Functions that take names of attributes, or turn them into code, are replaced.
"""

from __future__ import annotations

import copy
import dataclasses
import decimal
import functools
import importlib
import importlib.util
import keyword
import operator
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

from njrt.execution.guard.allowed import (
    ALLOWED_MEMBERS,
    IMPORTABLE_MODULES,
    MARKING_MEMBERS,
    REFUSED_MEMBERS,
    SUBMODULES,
)
from njrt.execution.guard.runtime import (
    CHECKED_BUILTINS,
    ComputingModule,
    check_class_attribute,
    check_metaclass,
    check_store,
    get_plain_name,
    iterate_fields,
    make_refusal_error,
    read_attribute,
)
from njrt.outcome import UserValue
from njrt.values.introspection import (
    get_class_namespace,
    get_mro,
    is_a,
    is_standard_module,
    is_standard_origin,
)

_getattr: Callable[..., UserValue] = CHECKED_BUILTINS["getattr"]


def import_module(path: str, is_named: bool) -> ModuleType:
    """Do `import a.b as c` (named) and return the path's last module, or `import a.b` and return its first."""
    module = open_module(path)
    return module if is_named else open_module(path.partition(".")[0])


def import_member(path: str, name: str) -> UserValue:
    """Do `from a.b import name`."""
    if f"{path}.{name}" in SUBMODULES:
        return open_module(f"{path}.{name}")
    module = open_module(path)
    try:
        return getattr(module, name)
    except AttributeError as error:
        raise ImportError(str(error)) from None


def is_importable(path: str) -> bool:
    """Return whether a block may import a module that the prompt does not name: never one of the program's own."""
    if path not in IMPORTABLE_MODULES | SUBMODULES:
        return False
    top = path.partition(".")[0]
    if top == "typing_extensions":
        return True
    if top in sys.modules:
        return is_standard_module(top)
    spec = importlib.util.find_spec(top)
    return spec is not None and is_standard_origin(spec.origin)


@lru_cache(maxsize=128)
def open_module(path: str) -> ComputingModule:
    """Return an importable module in the form that blocks see."""
    if not is_importable(path):
        raise ImportError(f"`{path}` cannot be imported in a block")
    real = importlib.import_module(path)
    opened = ComputingModule(path, real.__doc__)
    namespace: dict[str, Any] = vars(opened)
    for name in list_public_members(real):
        member = _REPLACED.get(f"{path}.{name}", vars(real).get(name))
        if name in MARKING_MEMBERS and type(member) is FunctionType:
            member = _mark_own(member)
        # A copy: a block cannot change an object of Python's library for the process.
        is_data = type(member) in (dict, list, set, bytearray, decimal.Context)
        namespace[name] = copy.deepcopy(member) if is_data else member
    for submodule in SUBMODULES:
        parent, _, name = submodule.rpartition(".")
        if parent == path:
            namespace[name] = open_module(submodule)
    return opened


def list_public_members(module: ModuleType) -> Iterator[str]:
    """Yield the names of a module's members that blocks may use."""
    top = module.__name__.partition(".")[0]
    namespace = vars(module)
    names = ALLOWED_MEMBERS.get(top) or namespace.get("__all__") or namespace
    constants = [name for name in namespace if name.isupper()]
    for name in dict.fromkeys([*names, *constants]):
        if name in namespace and is_public_member(top, name, namespace[name]):
            yield name


def is_public_member(top: str, name: str, member: UserValue) -> bool:
    """Return whether a module's member is public, not refused by a list, and not from a module of another kind."""
    is_private = (name.startswith("_") and not name.endswith("__")) or name == "main"
    is_listed = name in REFUSED_MEMBERS.get(top, ()) or name not in ALLOWED_MEMBERS.get(
        top, (name,)
    )
    return not (is_private or is_listed or _is_from_other_module(member))


def _is_from_other_module(member: UserValue) -> bool:
    """Return whether a member is a module or comes from an unimportable one, like `pathlib.Path` in `json.tool`."""
    if is_a(member, ModuleType):
        return True
    home = getattr(member, "__module__", None)
    if not isinstance(home, str) or home == "builtins" or home.startswith("_"):
        return False
    return home.partition(".")[0] not in IMPORTABLE_MODULES


def _attrgetter(*paths: str) -> Callable[[UserValue], UserValue]:
    """`operator.attrgetter` with checks of the names."""
    plain = [get_plain_name(path) for path in paths]
    operator.attrgetter(*plain)  # raises its own errors about the arguments

    def get_path(value: UserValue, path: str) -> UserValue:
        for name in path.split("."):
            value = _getattr(value, name)
        return value

    if len(plain) == 1:
        return lambda value: get_path(value, plain[0])
    return lambda value: tuple(get_path(value, path) for path in plain)


def _methodcaller(name: str, /, *args: UserValue, **named: UserValue) -> Callable[..., UserValue]:
    """`operator.methodcaller` with a check of the name."""
    plain = get_plain_name(name)
    operator.methodcaller(plain)
    return lambda value: _getattr(value, plain)(*args, **named)


def _wraps(wrapped: Callable[..., Any]) -> Callable[[Any], Any]:
    """`functools.wraps` without the lists of names that it also takes."""

    def decorate(wrapper: Any) -> Any:
        if type(wrapped) is FunctionType and type(wrapper) is FunctionType:
            return functools.update_wrapper(wrapper, wrapped)
        for name in ("__module__", "__name__", "__qualname__", "__doc__"):
            if hasattr(wrapped, name):
                CHECKED_BUILTINS["setattr"](wrapper, name, read_attribute(wrapped, name))
        return wrapper

    return decorate


def _mark_own(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return an attribute-setting decorator that refuses objects of Python's library."""

    def decorate(decorated: Any, /, *args: Any, **options: Any) -> Any:
        return function(check_store(decorated), *args, **options)

    return functools.update_wrapper(decorate, function)


def _dataclass(cls: type | None = None, /, **options: Any) -> Any:
    """`dataclasses.dataclass` with a check of the field names, which it turns into code."""

    def decorate(decorated: type) -> type:
        _check_dataclass(check_store(decorated))
        annotations = get_class_namespace(decorated).get("__annotations__")
        if annotations is not None:  # a copy: the code may have kept the dict to change it
            type.__setattr__(decorated, "__annotations__", dict(annotations))
        return dataclasses.dataclass(decorated, **options)

    return decorate if cls is None else decorate(cls)


def _check_dataclass(cls: type) -> None:
    if not is_a(cls, type):
        raise TypeError("dataclass() decorates classes")
    check_metaclass(cls)
    for base in get_mro(cls):
        for name in ("__annotations__", "__dataclass_fields__"):
            if type(get_class_namespace(base).get(name, {})) is not dict:
                raise make_refusal_error(name)
        for name in get_class_namespace(base).get("__annotations__", {}):
            _check_field_name(cls, name)
    for name in dataclasses_annotations(cls):
        _check_field_name(cls, name)
    for field in iterate_fields(cls):
        if type(field) is not dataclasses.Field:
            raise TypeError("a subclass of dataclasses.Field is refused in a block")
        if field.name is not None:
            _check_field_name(cls, field.name)


def dataclasses_annotations(cls: type) -> list[str]:
    """Return a class's annotated names if Python computes them lazily (3.14)."""
    try:
        from annotationlib import Format, get_annotations  # type: ignore[import-not-found]
    except ImportError:
        return []
    return list(get_annotations(cls, format=Format.FORWARDREF))


def _check_field_name(cls: type, name: UserValue) -> None:
    if type(name) is not str or not name.isidentifier() or keyword.iskeyword(name):
        raise TypeError("the name of a dataclass field must be an identifier")
    check_class_attribute(cls, name)


def _check_instances(function: Callable[..., Any]) -> Callable[..., Any]:
    """`asdict` and the like, which read the attributes that the fields of an object name."""

    def checked(obj: UserValue, /, **options: Any) -> Any:
        if dataclasses.is_dataclass(type(obj)):
            _check_dataclass(type(obj))
        return function(obj, **options)

    return checked


def _rebuild_functions(module: ModuleType, **replaced: Any) -> dict[str, Any]:
    """Return the namespace of a module with other globals under some names, for its own functions too."""
    namespace = dict(vars(module), **replaced)

    def rebuild(value: Any) -> Any:
        is_own = type(value) is FunctionType and value.__module__ == module.__name__
        if not is_own or value.__closure__:
            return value
        defaults = tuple(map(rebuild, value.__defaults__ or ()))
        own = FunctionType(value.__code__, namespace, value.__name__, defaults)
        own.__doc__, own.__kwdefaults__ = value.__doc__, value.__kwdefaults__
        return own

    for name, value in namespace.items():
        if name.endswith("_dispatch"):
            namespace[name] = {key: rebuild(function) for key, function in value.items()}
        else:
            namespace[name] = rebuild(value)
    return namespace


_copy = _rebuild_functions(copy, setattr=CHECKED_BUILTINS["setattr"])
"""The module `copy` with a checked `setattr`, which copying calls with names from an object's state."""
_dataclasses = _rebuild_functions(dataclasses, copy=SimpleNamespace(**_copy))

_REPLACED: dict[str, Any] = {
    "copy.copy": _copy["copy"],
    "copy.deepcopy": _copy["deepcopy"],
    "dataclasses.asdict": _check_instances(_dataclasses["asdict"]),
    "dataclasses.astuple": _check_instances(_dataclasses["astuple"]),
    "dataclasses.dataclass": _dataclass,
    "dataclasses.replace": _check_instances(dataclasses.replace),
    "functools.wraps": _wraps,
    "operator.attrgetter": _attrgetter,
    "operator.methodcaller": _methodcaller,
}
"""The replacements for members that take or make attribute names."""

if hasattr(copy, "replace"):
    _REPLACED["copy.replace"] = _check_instances(copy.replace)
