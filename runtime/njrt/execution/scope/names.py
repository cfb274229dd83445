"""The names of a block, from the arguments of its compiled call, whose lambdas are never called.

find_block_names(code, "Box.sort.<locals>.<lambda>", DeclaredNames(writes="seen"))
    BlockNames: names=("item", "seen"), outputs=("seen",), ...
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from types import CellType, CodeType, FunctionType
from typing import Any

from njrt.data.outcome import UserValue
from njrt.data.private_names import mangle
from njrt.data.records import record
from njrt.values.introspection import get_module_name


@record
class DeclaredNames:
    """What a compiled call says about the names of its block, which are separated by spaces."""

    place: str = ""
    """`file.njpy:line`."""
    writes: str = ""
    """The outputs."""
    cls: str | None = None
    """The class around the block, for private names."""
    me: str | None = None
    """The first parameter of the method around the block."""
    own: str = ""
    """The names that belong to the body of the class which the block stands in."""
    nl: str = ""
    """The names that the body of this class declares nonlocal."""
    uses: str = ""
    """The parts of imports that the prompt names."""
    parts: str = ""
    """The attributes that the prompt names, of variables that it does not name whole."""


class BlockNames:
    """The names of a block, the same in every run, from the arguments of its compiled call."""

    def __init__(self, code: CodeType, qualified_name: str, declared: DeclaredNames) -> None:
        owned, cls = declared.own.split(), declared.cls
        self.names = tuple(dict.fromkeys((*list_loaded_names(code), *owned)))
        self.global_names = frozenset(code.co_names)
        self.known = frozenset((*code.co_freevars, *code.co_names, *owned))
        self.outputs, self.uses = tuple(declared.writes.split()), tuple(declared.uses.split())
        self.parts: dict[str, list[str]] = {}
        for path in declared.parts.split():
            self.parts.setdefault(path.partition(".")[0], []).append(path)
        self.bindable = frozenset(mangle(path, cls) for path in self.outputs if "." not in path)
        self.own = frozenset(mangle(name, cls) for name in owned)
        self.declared_nonlocal = frozenset(mangle(name, cls) for name in declared.nl.split())
        self.class_name, self.first_parameter, self.place = cls, declared.me, declared.place
        self.host = qualified_name.removesuffix("<lambda>").removesuffix(".<locals>.").strip(".")
        """Qualified name of the code around the block, empty for a module."""
        self.future_flags = code.co_flags & _FUTURE_ANNOTATIONS


find_block_names = lru_cache(maxsize=1024)(BlockNames)


_FUTURE_ANNOTATIONS = 0x1000000
"""The flag that `from __future__ import annotations` leaves on code objects."""


@lru_cache(maxsize=1024)
def list_loaded_names(code: CodeType) -> tuple[str, ...]:
    """Return the names that a `lambda: (x, y)` loads, in order."""
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
    """Return the classes named by `lambda: {"y": T}` beyond `known` names, with local ones' cells.

    Only classes: a module named in a type, as in `<:path: os.PathLike>`, is not handed to the
    block.
    """
    if not isinstance(types, FunctionType):
        return {}
    code = types.__code__
    cells = dict(zip(code.co_freevars, types.__closure__ or (), strict=True))
    found: dict[str, CellType | None] = {}
    for name in list_loaded_names(code):
        cell = cells.get(name)
        value: Any = types.__globals__.get(name) if cell is None else read_cell(cell)
        if (
            name not in known
            and isinstance(value, type)
            and get_module_name(value) not in _TYPING_MODULES
        ):
            found[name] = cell
    return found


def read_cell(cell: CellType, unbound: UserValue = None) -> UserValue:
    """Return the value in a cell, or `unbound` if the cell is empty."""
    try:
        return cell.cell_contents
    except ValueError:
        return unbound


_TYPING_MODULES = ("typing", "typing_extensions", "collections.abc")
"""Modules with classes that have a meaning in types only."""
