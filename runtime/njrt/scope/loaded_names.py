"""What the lambdas in compiled code name: variables, classes in types, the function around them.

    lambda: (item, seen)             list_loaded_names     ("item", "seen")
    lambda: {"order": Order}         find_named_classes    {"Order": None}, or its cell if it is a local class
    in a method `Shop.sell`          find_host_name        "Shop.sell"

Their code is read; they are never called.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from types import CellType, CodeType, FunctionType
from typing import Any

from njrt.outcome import UserValue
from njrt.values.introspection import get_module_name, is_a


@lru_cache(maxsize=1024)
def list_loaded_names(code: CodeType) -> tuple[str, ...]:
    """Return the names that a `lambda: (x, y)` loads, in the order in which it loads them."""
    known = {*code.co_freevars, *code.co_names}
    return tuple(
        dict.fromkeys(
            instruction.argval
            for instruction in dis.get_instructions(code)
            if instruction.opname.startswith("LOAD_") and instruction.argval in known
        )
    )


def find_named_classes(
    types: Callable[[], Mapping[str, Any]] | None, known: Collection[str]
) -> dict[str, CellType | None]:
    """Return the classes that `lambda: {"y": T}` names beyond the `known` names, with the cell of each local one.

    Classes only: a module named in a type, as in `<:path: os.PathLike>`, is not handed to the block.
    """
    if not isinstance(types, FunctionType):
        return {}
    code = types.__code__
    cells = dict(zip(code.co_freevars, types.__closure__ or (), strict=True))
    found: dict[str, CellType | None] = {}
    for name in list_loaded_names(code):
        cell = cells.get(name)
        value: Any = types.__globals__.get(name) if cell is None else _read_cell(cell)
        if (
            name not in known
            and is_a(value, type)
            and get_module_name(value) not in _TYPING_MODULES
        ):
            found[name] = cell
    return found


def _read_cell(cell: CellType) -> UserValue:
    try:
        return cell.cell_contents
    except ValueError:
        return None


_TYPING_MODULES = ("typing", "typing_extensions", "collections.abc")
"""The modules whose classes mean something in a type only."""


def find_host_name(qualified_name: str, namespace: Mapping[str, Any] | None) -> str:
    """Return the qualified name of the code around a block, empty for a module; `qualified_name` is its lambda's."""
    if namespace is not None and isinstance(name := namespace.get("__qualname__"), str):
        return name
    return qualified_name.removesuffix("<lambda>").removesuffix(".<locals>.").removesuffix(".")
