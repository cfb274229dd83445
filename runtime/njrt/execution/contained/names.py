"""The names of a block as contained code has them: read from the scope, and bound in it.

names = Names(snippet)
names.places                {"orders": "variable", "total": "output"}
names.list_changed()        [("total", 5)]: what the program has bound since the last message
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from types import CodeType, ModuleType
from typing import Any

from njrt.execution.checks import MODULE_NAMES
from njrt.execution.compile import Snippet
from njrt.execution.contained.contents import MISSING
from njrt.execution.contained.known import CHILD_MODULES, list_codes
from njrt.execution.contained.wire import WireError
from njrt.execution.scope.names import read_cell
from njrt.values.introspection import is_a


class Names:
    """The names that the code uses (state: the values that the child knows, and the first ones)."""

    def __init__(self, snippet: Snippet) -> None:
        self.scope, self.code = snippet.scope, snippet.code
        self.places = self._find_places()
        self._readers = {name: self._make_reader(name) for name in self.places}
        self._known: dict[str, Any] = {}
        self._first: dict[str, Any] = {}
        self._edited: set[str] = set()
        self.modules: dict[str, ModuleType] = {}
        """The modules that the code reaches by the text's names and that are not in the child."""
        self.members: dict[str, dict[str, Any]] = {}
        """What the code finds in each of them, by the module's name."""
        self._find_modules()

    def list_borrowed(self) -> list[str]:
        """Return the builtins that the code uses although the program shadows them."""
        names = self.code.co_freevars
        return [name for name in names if name in self.scope.borrowed and name not in self.places]

    def list_named(self) -> list[Any]:
        """Return the values of all names that the block has, used by the code or not."""
        scope = self.scope
        values = [*scope.list_variables((*scope.names, *scope.type_names)).values()]
        used = [it for it in (read() for read in self._readers.values()) if it is not MISSING]
        return [*values, *used]

    def list_owners(self, attribute: str) -> list[Any]:
        """Return the objects whose attribute of this name the text names as an output."""
        paths = [path.rpartition(".")[::2] for path in self.scope.outputs]
        owners = [owner for owner, name in paths if owner and name == attribute]
        return [self.scope.read_value(owner) for owner in owners if self.scope.is_bound(owner)]

    def list_changed(self) -> list[tuple[str, Any]]:
        """Return the names bound to another object than the child knows, with it or `MISSING`."""
        values = [(name, read()) for name, read in self._readers.items()]
        known, edited = self._known, self._edited
        changed = [(n, it) for n, it in values if it is not known.get(n, MISSING) or n in edited]
        edited.clear()
        self._known |= changed
        return changed

    def check(self, name: str) -> None:
        """Raise WireError unless the code may bind this name."""
        if self.places.get(name) not in ("output", "own", "global output"):
            raise WireError("this name cannot be bound")

    def read(self) -> dict[str, Any]:
        """Return the present values of all names; `MISSING` for those that are not bound."""
        return {name: read() for name, read in self._readers.items()}

    def bind(self, name: str, value: Any, is_edited: bool = False) -> None:
        """Bind a name as the code has, or unbind it (`MISSING`).

        If the value was edited, the child does not know it yet.
        """
        self._edited.update([name] if is_edited else [])
        self._first.setdefault(name, self._readers[name]())
        self._known[name] = value
        if value is MISSING:
            self.scope.unbind(name)
        else:
            self.scope.rebind(name, value)

    def restore(self) -> None:
        """Bind what the code has bound as it was, unless the program has bound it since."""
        for name, first in self._first.items():
            if self._readers[name]() is self._known[name]:
                if first is MISSING:
                    self.scope.unbind(name)
                else:
                    self.scope.rebind(name, first)

    def _find_modules(self) -> None:
        """Find the modules that are named, and what the text names of them or of their modules."""
        named = self.scope.list_variables(self.scope.names)
        for name, module in named.items():
            for path in self.scope.list_named(name, module) if is_a(module, ModuleType) else ():
                self._add_module(module, path.split(".")[1:])

    def _add_module(self, module: ModuleType, path: Sequence[str]) -> None:
        """Add a module, and the part of it with this path."""
        if module.__name__ in CHILD_MODULES:
            return
        self.modules[module.__name__] = module
        held = self.members.setdefault(module.__name__, {})
        if not path:
            return
        part = held[path[0]] = getattr(module, path[0])
        if is_a(part, ModuleType):
            self._add_module(part, path[1:])

    def _find_places(self) -> dict[str, str]:
        """Return the place of each name, such as an output, a variable, or the block's own."""
        scope, code = self.scope, self.code
        places: dict[str, str] = {}
        for name in code.co_freevars:
            if name in scope.scratch:
                places[name] = "own"
            elif name in scope.cells:
                places[name] = "output" if name in scope.bindable else "variable"
            elif name in scope.borrowed and scope.is_lent(name):
                places[name] = "variable"
        used = {name for each in list_codes(code) for name in each.co_names}
        if {"dir", "locals", "vars"} & {*used, *code.co_freevars}:
            places |= {name: "variable" for name in scope.list_variables() if name not in places}
        for name in used:
            if name in scope.global_names and name not in places:
                places[name] = "global output" if name in scope.bindable else "global variable"
            elif (
                scope.is_lent(name) or name in MODULE_NAMES & scope.module.keys()
            ) and name not in places:
                places[name] = "global variable"
        return places

    def _make_reader(self, name: str) -> Callable[[], Any]:
        """Return a function that reads a name from its place; `MISSING` if it is unbound."""
        if (cell := self.scope.find_cell(name)) is not None:
            return partial(read_cell, cell, MISSING)
        if self.scope.is_lent(name):
            return partial(self.scope.lent.get, name)
        return partial(self.scope.module.get, name, MISSING)


@lru_cache(maxsize=64)
def dump_code(code: CodeType) -> str:
    """Return the bytes of a code object, one character each."""
    return marshal.dumps(_use_plain_filename(code)).decode("latin-1")


def _use_plain_filename(code: CodeType) -> CodeType:
    """Return the code with a file name that is exactly a str."""
    constants = tuple(
        _use_plain_filename(constant) if isinstance(constant, CodeType) else constant
        for constant in code.co_consts
    )
    return code.replace(co_filename=code.co_filename[:], co_consts=constants)
