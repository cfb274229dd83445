"""Members of widely used libraries that give more than the object that a prompt names: code, files, addresses of memory.

    frame.eval("@x.__class__")          refused: it runs a text as code
    frame.to_csv("/tmp/out.csv")        refused: it writes a file; frame.to_csv() gives the text
    order.parse_raw(data, ...)          refused: it can load pickles (pydantic's models have it)

If the prompt names the library itself, its members are allowed. The list is not complete, and cannot be: other objects of libraries
can do all that their public members do.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from types import MethodType
from typing import Any

from njrt.values.introspection import get_class_namespace, get_module_name, get_mro, is_a

_REFUSED: Mapping[str, frozenset[str]] = {
    "numpy": frozenset(["ctypes", "tofile", "dump"]),
    "pandas": frozenset(["eval", "query", "to_clipboard", "to_gbq", "to_hdf", "to_pickle", "to_sql"]),
    "pydantic": frozenset(["parse_file", "parse_raw"]),
    "logging": frozenset(["manager"]),
    "ctypes": frozenset(["from_address", "from_buffer", "from_param", "in_dll"]),
    "_ctypes": frozenset(["from_address", "from_buffer", "from_param", "in_dll"]),
}  # fmt: skip
_NAMES = frozenset().union(*_REFUSED.values())
_WRITERS = frozenset(
    f"to_{form}"
    for form in ["csv", "excel", "feather", "html", "json", "latex", "markdown", "orc", "parquet", "stata", "string", "xml"]
)  # fmt: skip
_TARGETS = ("buf", "excel_writer", "fname", "path", "path_or_buf", "path_or_buffer")


def find_refused_member(value: Any, name: str, named: Set[str]) -> str | None:
    """Return the library whose member this is, if it gives more than the object; `named` are modules of the prompt."""
    if name not in _NAMES:
        return None
    for base in get_mro(value if is_a(value, type) else type(value)):
        library = get_module_name(base).partition(".")[0]
        if name in _REFUSED.get(library, ()) and name in get_class_namespace(base):
            return None if library in named else library
    return None


def writes_file(function: Any, args: list[Any], options: Mapping[str, Any]) -> bool:
    """Return whether a call is one by which an object of pandas writes a file."""
    if type(function) is not MethodType or function.__name__ not in _WRITERS:
        return False
    is_pandas = get_module_name(type(function.__self__)).partition(".")[0] == "pandas"
    return is_pandas and bool(args or any(options.get(name) is not None for name in _TARGETS))
