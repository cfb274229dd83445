"""Checks of the door on the objects that contained code touches; they leave with `contained/door.py`.

check_read(queue, "_loop")      AttributeError: internal to Python's library
open_module("asyncio")          a read-only module with the members that compute
"""

from __future__ import annotations

import copy
import decimal
import importlib
import re
import sys
import weakref
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from types import FunctionType, GenericAlias, MethodType, ModuleType
from typing import Any

from njrt.execution.guard import allowed
from njrt.execution.guard.allowed import (
    ALLOWED_MEMBERS,
    IMPORTABLE_MODULES,
    SUBMODULES,
    split_words,
)
from njrt.execution.guard.check import is_importable
from njrt.outcome import UserValue
from njrt.values.introspection import (
    get_class_namespace,
    get_module_name,
    get_mro,
    is_a,
    is_standard_module,
)

SAFE_NAMES = allowed.SAFE_NAMES - split_words(
    "__abstractmethods__ __annotations__ __dataclass_fields__ __delattr__ __delete__ __dict__ __get__ __getstate__ __match_args__ __members__ __set__ __set_name__ __setattr__"
)

REFUSED_ATTRIBUTES = split_words(
    """__base__ __bases__ __builtins__ __closure__ __code__ __func__ __getattribute__
    __globals__ __import__ __loader__ __mro__ __objclass__ __reduce__ __reduce_ex__
    __self__ __spec__ __subclasses__ __subclasshook__ __traceback__ __wrapped__ __self_class__
    __thisclass__ __defaults__ __kwdefaults__ __path__ __cached__ mro
    __annotate__ __args__ _evaluate
    tb_frame tb_next tb_lasti with_traceback gi_frame gi_code gi_yieldfrom cr_frame cr_code cr_await cr_origin
    ag_frame ag_code ag_await f_back f_builtins f_code f_globals f_locals f_trace
    co_code co_consts co_names
    get_context get_coro get_loop get_stack subprocess_exec subprocess_shell"""
)
"""Attributes that lead from any object into the interpreter, or that evaluate text as code."""
FORMAT_METHODS = split_words("format format_map")
"""String methods that read the attributes named in the string."""
LOOP_METHODS = split_words(
    """add_reader add_signal_handler add_writer connect_accepted_socket connect_read_pipe connect_write_pipe
    create_connection create_datagram_endpoint create_server create_unix_connection create_unix_server
    run_in_executor sendfile set_default_executor set_exception_handler set_task_factory sock_accept
    sock_connect"""
)
"""Methods that are refused on event loops only: they open connections, servers and threads."""
REGISTERING_METHODS = frozenset({"register"})
"""Methods that are refused on classes of Python's library only: they change `isinstance` for the whole process."""
REFUSED_BINDINGS = split_words("__annotations__ __class__ __dataclass_fields__ __match_args__")
"""Attributes that Python uses as attribute names or as code, and the class: they may be read but not set."""
REFUSED_MEMBERS: Mapping[str, frozenset[str]] = {
    "base64": split_words("main test"),
    "calendar": split_words("LocaleHTMLCalendar LocaleTextCalendar different_locale"),
    "contextlib": split_words("chdir redirect_stderr redirect_stdout"),
    "csv": split_words("field_size_limit register_dialect unregister_dialect"),
    "dataclasses": split_words("make_dataclass"),
    "enum": split_words("global_enum global_enum_repr global_flag_repr global_str"),
    "functools": split_words("singledispatch singledispatchmethod update_wrapper"),
    "string": split_words("Formatter"),
    "time": split_words("clock_settime clock_settime_ns pthread_getcpuclockid tzset"),
    "types": split_words("CodeType FrameType FunctionType LambdaType ModuleType TracebackType"),
    "typing": split_words("ForwardRef evaluate_forward_ref get_args get_type_hints"),
    "typing_extensions": split_words(
        "ForwardRef evaluate_forward_ref get_annotations get_args get_type_hints"
    ),
    "uuid": split_words("uuid1 uuid6 getnode"),
    "zoneinfo": split_words("reset_tzpath"),
}
"""Members of importable modules that have effects or evaluate text."""


def is_checked_name(name: str) -> bool:
    """Return whether reading an attribute of this name is checked at run time."""
    return (
        (name[0] == "_" and name not in SAFE_NAMES)
        or name in FORMAT_METHODS
        or name in LOOP_METHODS
        or name in REGISTERING_METHODS
    )


_REFUSED_IN_FORMAT = re.compile(
    rf"\{{[^{{}}]*[.\[]\s*(?P<name>{'|'.join(sorted(REFUSED_ATTRIBUTES))})\b"
)
_get_self_class = vars(super)["__self_class__"].__get__
_get_this_class = vars(super)["__thisclass__"].__get__
_get_partial_function = vars(partial)["func"].__get__


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
        # A metaclass's `register` takes any class.
        if is_a(value, type) and (is_library_class(value) or type in get_mro(value)):
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


@lru_cache(maxsize=256)
def _list_used_names(cls: type) -> frozenset[str]:
    """Return the names in the methods of a library class, which may be attributes of its instances."""
    methods = [member for member in get_class_namespace(cls).values() if is_a(member, FunctionType)]
    return frozenset(name for method in methods for name in method.__code__.co_names)


def make_refusal_error(name: str) -> AttributeError:
    """Return the error for a refused attribute."""
    return AttributeError(f"`{name}` is refused in a block")


@lru_cache(maxsize=128)
def open_module(path: str) -> ComputingModule:
    """Return an importable module in the form that blocks see."""
    if not is_importable(path):
        raise ImportError(f"`{path}` cannot be imported in a block")
    real = importlib.import_module(path)
    opened = ComputingModule(path, real.__doc__)
    namespace: dict[str, Any] = vars(opened)
    for name in list_public_members(real):
        member = vars(real).get(name)
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
