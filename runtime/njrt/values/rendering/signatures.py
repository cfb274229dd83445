"""Write types, signatures and docstrings as in Python source.

    search                 search(query: str, limit: int = 10) -> list[str]
    typing.Optional[Item]  Item | None

Unlike `inspect.signature`, this reads the code object and calls none of the program's code.
"""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from njrt.data.outcome import UserValue
from njrt.values.introspection import (
    get_class_name,
    get_class_namespace,
    get_module_name,
    is_a,
    is_exactly,
    uncache,
    unwrap_function,
)
from njrt.values.rendering.writer import clip

MAX_DOC_CHARS = 100
_MAX_DEPTH = 4
_UNIONS = (typing.Union, types.UnionType)
_VARIADIC_POSITIONAL, _VARIADIC_KEYWORD = 0x04, 0x08  # co_flags: CO_VARARGS, CO_VARKEYWORDS
_COROUTINE, _ASYNC_GENERATOR = 0x80, 0x200  # co_flags: CO_COROUTINE, CO_ASYNC_GENERATOR

DefaultFormatter = Callable[[str, UserValue], str]
"""Writes a named parameter's default in a few characters."""


def format_type(annotation: UserValue, depth: int = _MAX_DEPTH) -> str:
    """Write a type or annotation: `list[int]`, `Item | None`, `'Later'` as `Later`."""
    if annotation is None or annotation is type(None):
        return "None"
    if is_a(annotation, type) and not is_a(annotation, types.GenericAlias):
        return get_class_name(annotation)
    if is_a(annotation, str):
        return str.__str__(annotation)
    if annotation is ...:
        return "..."
    if is_a(annotation, list):
        return _format_generic("", list.__iter__(annotation), depth)
    return _format_special_form(annotation, depth)


def _format_special_form(annotation: UserValue, depth: int) -> str:
    if get_module_name(type(annotation)) not in (
        "typing",
        "types",
        "builtins",
        "collections.abc",  # `Callable[...]`
        "annotationlib",  # of Python 3.14: `ForwardRef`
        "typing_extensions",
    ):
        return get_class_name(type(annotation))
    origin: Any = typing.get_origin(annotation)
    if origin is None:
        name = getattr(annotation, "__forward_arg__", None) or getattr(annotation, "__name__", None)
        return name if type(name) is str else get_class_name(type(annotation))
    arguments = typing.get_args(annotation)
    if origin in _UNIONS:
        return " | ".join(format_type(part, depth - 1) for part in arguments)
    if origin is typing.Literal:
        plain = (str, int, bool, bytes)
        shown = (repr(one) if is_exactly(one, *plain) else format_type(one) for one in arguments)
        return f"Literal[{', '.join(shown)}]"
    if origin is typing.Annotated:
        return format_type(arguments[0], depth)
    star = "*" * (getattr(annotation, "__unpacked__", None) is True)
    return _format_generic(star + format_type(origin, depth), arguments, depth)


def _format_generic(name: str, arguments: Iterable[Any], depth: int) -> str:
    if depth <= 0:
        return f"{name}[...]"
    return f"{name}[{', '.join(format_type(argument, depth - 1) for argument in arguments)}]"


def format_signature(
    function: UserValue, default_text: DefaultFormatter, *, skip_first: bool = False
) -> str:
    """Write `(query: str, limit: int = 10) -> list[str]`, or `(...)` if it is not known.

    `skip_first` leaves out `self` or `cls`.
    """
    if type(function) is MethodType:
        function, skip_first = function.__func__, True
    function = uncache(function)
    if type(function) is FunctionType:
        return _format_python_signature(unwrap_function(function), default_text, skip_first)
    if is_exactly(function, BuiltinFunctionType, types.MethodDescriptorType):
        written = getattr(function, "__text_signature__", None)
        if type(written) is str:
            return written.replace("$self, ", "").replace("$module, ", "")
    return "(...)"


def _format_python_signature(
    function: FunctionType, default_text: DefaultFormatter, skip_first: bool
) -> str:
    code, annotations = function.__code__, read_annotations(function)
    names = code.co_varnames
    positional, keyword_only = code.co_argcount, code.co_kwonlyargcount
    defaults = function.__defaults__ or ()
    first_default = positional - len(defaults)

    def parameter(name: str, stars: str = "", default: tuple[Any, ...] = ()) -> str:
        annotation = f": {format_type(annotations[name])}" if name in annotations else ""
        equals = " = " if annotation else "="
        return f"{stars}{name}{annotation}" + (
            equals + default_text(name, default[0]) if default else ""
        )

    parts = []
    for index in range(positional):
        default = (defaults[index - first_default],) if index >= first_default else ()
        if not (skip_first and index == 0):
            parts.append(parameter(names[index], default=default))
        if index + 1 == code.co_posonlyargcount and parts:
            parts.append("/")
    end = positional + keyword_only
    if code.co_flags & _VARIADIC_POSITIONAL:
        parts.append(parameter(names[end], "*"))
        end += 1
    elif keyword_only:
        parts.append("*")
    given = function.__kwdefaults__ or {}
    for name in names[positional : positional + keyword_only]:
        parts.append(parameter(name, default=(given[name],) if name in given else ()))
    if code.co_flags & _VARIADIC_KEYWORD:
        parts.append(parameter(names[end], "**"))
    returned = f" -> {format_type(annotations['return'])}" if "return" in annotations else ""
    return f"({', '.join(parts)}){returned}"


def read_annotations(holder: FunctionType | type) -> dict[str, Any]:
    """Return the annotations of a function or of a class's own body; {} if they cannot be read.

    From Python 3.14 on, they are computed lazily, and may fail on a name that is not defined yet.
    """
    try:
        if isinstance(holder, FunctionType):
            return holder.__annotations__
        found = get_class_namespace(holder).get("__annotations__")
        if found is None and sys.version_info >= (3, 14):
            # Before 3.14, reading them from the class would write an empty dict into the class.
            found = vars(type)["__annotations__"].__get__(holder)
        return found if type(found) is dict else {}
    except Exception:
        return {}


def describe_function_kind(function: UserValue) -> str:
    """`function`, `async function`, `method` or `built-in function`."""
    kind = "method" if type(function) is MethodType else "function"
    if type(function) is MethodType:
        function = function.__func__
    function = uncache(function)
    if type(function) is not FunctionType:
        return f"built-in {kind}"
    is_async = unwrap_function(function).__code__.co_flags & (_COROUTINE | _ASYNC_GENERATOR)
    return f"async {kind}" if is_async else kind


def get_function_name(function: UserValue) -> str:
    """Return a function's or method's qualified name without enclosing functions: `Graph.add`."""
    if type(function) is MethodType:
        function = function.__func__
    function = uncache(function)
    if not is_exactly(function, FunctionType, BuiltinFunctionType, types.MethodDescriptorType):
        return get_class_name(type(function))
    return str(function.__qualname__).rpartition("<locals>.")[2]


def get_doc_summary(doc: Any) -> str:
    """Return the first line of a docstring, cut to `MAX_DOC_CHARS`; an empty string without one."""
    if type(doc) is not str:
        return ""
    return clip(doc[:1000].strip().partition("\n")[0].rstrip(), MAX_DOC_CHARS)
