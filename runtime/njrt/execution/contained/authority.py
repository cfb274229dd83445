"""Library members that do more than their object: they write files, load pickles, or run text as code.

    find_refused_member(frame, "eval", named)   "pandas", unless the prompt names it
    limit_function(frame.to_csv, named)         a function that gives the text, and writes no file
    limit_function(frame.agg, named)            a function that takes functions, and names such as "sum"
    find_home(shop.environ, "shop")             "os"

The code only ever gets the limited function, so the limit holds wherever the function is called. No such list is
complete: objects of libraries that are not listed here are not limited.
"""

from __future__ import annotations

import ast
import enum
import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Set
from types import FunctionType, MethodType, ModuleType
from typing import Any

from njrt.execution.contained.wire import WRITERS
from njrt.execution.door_checks import find_refused_attribute, find_target
from njrt.execution.guard.allowed import split_words
from njrt.values.introspection import (
    get_class_namespace,
    get_module_name,
    get_mro,
    is_a,
    is_standard_module,
    read_attributes,
)

_REFUSED: Mapping[str, frozenset[str]] = {
    "numpy": split_words("capsule cffi ctypes dump resize tofile"),
    "pandas": split_words(
        """boxplot env eval from_custom_template hist loader plot query template_dir template_html
        template_html_style template_html_table template_latex template_string template_typst this_dir
        to_clipboard to_gbq to_hdf to_iceberg to_pickle to_sql"""
    ),
    "polars": split_words("deserialize plot sql"),
    "PIL": split_words("show"),
    "pydantic": split_words(
        """apply_typevars_map from_annotated_attribute from_annotation from_field merge_field_infos model_config
        model_rebuild parse_file parse_raw rebuild rebuild_annotation update_forward_refs"""
    ),
    "jinja2": split_words(
        """compile compile_expression compile_templates environment from_string overlay"""
    ),
    "configparser": frozenset({"read"}),
    "lxml": split_words("parse write write_c14n xinclude xslt"),
    "tarfile": split_words("add extract extractall"),
    "xml": split_words("parse write write_c14n"),
    "zipfile": split_words("extract extractall write"),
    "typing": frozenset({"copy_with"}),
    "logging": split_words("addHandler handlers manager"),
    "ctypes": split_words("from_address from_buffer from_param in_dll"),
    "_ctypes": split_words("from_address from_buffer from_param in_dll"),
}
_DESCRIBING = split_words("attr attrs dataclasses inspect pydantic typing typing_extensions")
"""Libraries with objects that describe fields and parameters: the classes that they give are only found."""
_MAKERS = split_words(
    """construct from_orm model_construct model_validate model_validate_json model_validate_strings parse_obj
    validate"""
)
"""Pydantic's methods that make instances of their class and of its fields' classes."""
_REFUSED_CHANGES: Mapping[str, frozenset[str]] = {
    "pydantic": split_words("alias annotation discriminator metadata model_config validation_alias")
}
"""Attributes that the library evaluates, or uses as names of other attributes to read."""
_DATA = (str, float, tuple, frozenset, enum.Enum, type(None), *WRITERS)
"""Immutable values, which modules share."""
_NAMES = frozenset().union(*_REFUSED.values())

_WRITERS: Mapping[str, frozenset[str]] = {
    "pandas": split_words(
        """to_csv to_excel to_feather to_html to_json to_latex to_markdown to_orc to_parquet to_stata to_string
        to_typst to_xml"""
    ),
    "polars": split_words(
        """serialize sink_csv sink_delta sink_iceberg sink_ipc sink_ndjson sink_parquet write_avro write_clipboard
        write_csv write_database write_delta write_excel write_iceberg write_ipc write_ipc_stream write_json
        write_ndjson write_parquet"""
    ),
    "PIL": split_words("save"),
}
"""Methods that write a file or, without a first argument, return the text."""
_TARGETS = split_words(
    """buf connection excel_writer file fname fp path path_or_buf path_or_buffer stylesheet table_name target
    workbook"""
)
_get_self_class = vars(super)["__self_class__"].__get__
_DISPATCHERS = split_words("agg aggregate apply pivot_table transform")
"""Pandas methods that call a member by name, given as their first argument or as `aggfunc`."""
_CALLED_BY_NAME = split_words(
    """abs all any average bfill ceil corr count cov cumcount cummax cummin cumprod cumsum describe diff exp
    expm1 ffill fillna first floor head idxmax idxmin interpolate kurt last len log log10 log1p log2 mad max mean
    median min mode nanmax nanmean nanmedian nanmin nanstd nansum ngroup nth nunique ohlc pct_change prod product
    ptp quantile rank round sem shift sign size skew sqrt square std sum tail unique value_counts var"""
)


def find_refused_member(value: Any, name: str, named: Set[str]) -> str | None:
    """Return the library that defines this member if it gives more than the object; `named` are prompt modules."""
    return _find_library(value, name, _REFUSED, named) if name in _NAMES else None


def find_refused_given(value: Any, name: str, member: Any, named: Set[str]) -> str | None:
    """Return the library of an object that a proxy's `__getattr__` returns under the name of a refused member."""
    if name not in _NAMES or name in read_attributes(value):
        return None
    if any(name in get_class_namespace(base) for base in get_mro(type(value))):
        return None
    for part in (member, *(member[:1] if type(member) is list else ())):
        for base in get_mro(type(part)):
            library = get_module_name(base).partition(".")[0]
            if name in _REFUSED.get(library, ()) and library not in named:
                return library
    return None


def is_described(value: Any, member: Any) -> bool:
    """Return whether a member is a class, or an alias of a class, in the description of a field or parameter."""
    library = get_module_name(type(value)).partition(".")[0]
    return library in _DESCRIBING and is_a(find_target(member), type)


def makes_instances(method: Any) -> bool:
    """Return whether a class method may make instances: any of Python's library, or a known one of pydantic."""
    if type(method) is not MethodType or type(method.__func__) is not FunctionType:
        return False
    library = str(method.__func__.__module__).partition(".")[0]
    is_maker = library == "pydantic" and method.__func__.__name__ in _MAKERS
    return is_maker or is_standard_module(library)


def find_refused_change(value: Any, name: str, named: Set[str]) -> str | None:
    """Return the library that defines this attribute if it evaluates its values."""
    if not any(name in names for names in _REFUSED_CHANGES.values()):
        return None
    return _find_library(value, name, _REFUSED_CHANGES, named)


def _find_library(
    value: Any, name: str, table: Mapping[str, frozenset[str]], named: Set[str]
) -> str | None:
    for base in list_owners(value):
        library = get_module_name(base).partition(".")[0]
        is_defined = name in get_class_namespace(base) or name == "handlers"  # of each logger
        if name in table.get(library, ()) and is_defined:
            return None if library in named else library
    return None


def list_owners(value: Any) -> Iterator[type]:
    """Yield the classes that may define a value's attributes, also behind a `super`, an alias or a proxy."""
    target = find_target(value)
    yield from get_mro(target if is_a(target, type) else type(target))
    if is_a(value, super):
        yield from get_mro(_get_self_class(value))
    elif not is_a(value, type) and is_a(value.__class__, type):
        yield from get_mro(value.__class__)


def find_import(module: ModuleType, name: str, member: Any) -> str | None:
    """Return the module that one of the program's modules imports a member from, by its source; None for its own."""
    for home, given, own in list_imports(module):
        source = vars(sys.modules.get(home, ast)).get(name if given == "*" else given, module)
        if own in ("*", name) and source is member and not is_standard_module(home):
            return home
    return None


@functools.lru_cache(maxsize=64)
def list_imports(module: ModuleType) -> tuple[tuple[str, str, str], ...]:
    """Return the imports in a module's source: the other module, the name there, and the name here."""
    try:
        waiting: list[ast.AST] = [ast.parse(inspect.getsource(module))]
    except (OSError, TypeError, ValueError, SyntaxError, RecursionError):
        return ()
    found: list[tuple[str, str, str]] = []
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found += [(node.module, it.name, it.asname or it.name) for it in node.names]
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)
    return tuple(found)


def find_home(member: Any, own: str) -> str | None:
    """Return the module of Python's library or an installed package that also has this object; None for data.

    `own` is the package of the member's module. Not detected: objects of the program's other modules.
    """
    if any(is_a(member, cls) for cls in _DATA) or is_standard_module(own):
        return None
    is_installed = _is_installed(sys.modules.get(own))
    for name, module in [*sys.modules.items()]:
        top = name.partition(".")[0]
        if top == own or not is_a(module, ModuleType):
            continue
        is_library = is_standard_module(top) or (not is_installed and _is_installed(module))
        if is_library and any(found is member for found in [*vars(module).values()]):
            return name
    return None


def _is_installed(module: Any) -> bool:
    return "-packages" in str(getattr(module, "__file__", None))


def limit_function(value: Any, named: Set[str]) -> Any:
    """Wrap a library function that can do more, so that its arguments are checked; return other values unchanged."""
    function = value.__func__ if type(value) is MethodType else value
    if type(function) is not FunctionType:
        return value
    library = str(function.__module__).partition(".")[0]
    if library in named or library not in _REFUSED:
        return value
    name = function.__name__
    if name in _WRITERS.get(library, ()):
        check: Callable[..., None] = _check_writer
    elif library == "pandas" and name in _DISPATCHERS:
        check = _check_dispatcher
    elif function.__module__.startswith("pandas.io.formats.style"):
        check = _check_texts
    else:
        return value
    owners = (value.__self__,) if type(value) is MethodType else ()

    @functools.wraps(value)
    def call(*args: Any, **options: Any) -> Any:
        check(name, (*owners, *args), options)
        _check_texts(name, args, options)
        return value(*args, **options)

    return call


def _check_writer(name: str, args: tuple[Any, ...], options: Mapping[str, Any]) -> None:
    first = args[1] if len(args) > 1 else ""
    is_path = isinstance(first, str | bytes) or hasattr(type(first), "__fspath__")
    is_open = name == "save" and not is_path
    targets = [*args[1:], *(options.get(target) for target in _TARGETS)]
    if not is_open and any(target is not None for target in targets):
        raise PermissionError(f"`{name}` writes no file here; without a path it gives the text")


def _check_dispatcher(name: str, args: tuple[Any, ...], options: Mapping[str, Any]) -> None:
    if name == "pivot_table":
        functions: list[Any] = [options.get("aggfunc"), *args[4:5]]
    else:
        functions = [*args[1:2], options.get("func"), options.get("arg")]
    if all(function is None for function in functions):
        # Named aggregations; for a table also `total=("price", "sum")`, a column and a function.
        is_series = type(args[0]).__name__.startswith("Series") if args else True
        functions = [
            it[1] if is_a(it, tuple) and len(it) == 2 and not is_series else it
            for it in options.values()
        ]
    for function in functions:
        for text in _list_names(function):
            if text not in _CALLED_BY_NAME:
                raise PermissionError(
                    f"`{name}` calls no `{text}` by its name here; pass a function"
                )


def _list_names(function: Any) -> Iterator[str]:
    """Yield the names of the members that a pandas method would call."""
    if is_a(function, str):
        yield str.__str__(function)
    elif is_a(function, dict):
        for each in dict.values(function):
            yield from _list_names(each)
    elif is_a(function, list) or is_a(function, tuple) or is_a(function, set):
        for each in function:
            yield from _list_names(each)
    elif function is not None and not callable(function):
        yield type(function).__name__


def _check_texts(name: str, args: tuple[Any, ...], options: Mapping[str, Any]) -> None:
    """Refuse texts that would make `str.format` read attributes."""
    waiting = [*args, *options.values()]
    while waiting:
        value = waiting.pop()
        if is_a(value, str):
            if "{" in value and ("._" in value or find_refused_attribute(value)):
                raise PermissionError(f"`{name}` formats no attributes here")
        elif is_a(value, dict):
            waiting += dict.values(value)
        elif is_a(value, list) or is_a(value, tuple):
            waiting += list(value)
