"""The variables that a block shares with its program, not copies of them.

    scope = make_scope(lambda: (item, seen), writes="seen")     of `njrt.execution.scope.opening`
    scope.lookup("item")      Bound(3)
    scope.assign("seen", 4)   the program's own variable is 4 from here on, also for closures

The lambda's `__closure__` holds the enclosing function's own cells, and its `__globals__` is the
module's dictionary. Names that the block introduces live in separate cells and end with the block.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping
from functools import cached_property
from itertools import filterfalse
from types import CellType, FunctionType
from typing import Any

from njrt.data.outcome import UserValue
from njrt.data.private_names import mangle
from njrt.effects import Refusal
from njrt.errors import OutputTypeError
from njrt.execution.scope.advice import format_read_only_error
from njrt.execution.scope.bindings import (
    Absent,
    Bound,
    SavedBindings,
    find_part,
    read_attribute,
    read_path,
)
from njrt.execution.scope.declared_types import is_declared, list_type_variables, resolve_types
from njrt.execution.scope.names import (
    BlockNames,
    find_named_classes,
)
from njrt.execution.scope.transcript import Transcript
from njrt.execution.scope.typecheck import find_type_mismatch
from njrt.values.introspection import (
    get_class_name,
    is_a,
)
from njrt.values.snapshot import State, is_same_state, read_state


class Scope:
    """The variables of a block run. Names are as in the source unless a docstring says "mangled".

    The public attributes hold mangled names: `cells` are the host function's own, `global_names`
    resolve in `module`, `own` are names in the class `namespace`, `scratch` the block's own
    variables, and `borrowed` the builtins that the block must see although the program shadows
    them. The classes that only the types of outputs name are the `type_names`: `<:order: Order>`
    lets the block make an `Order`. `lent` are the names that the runtime gives the block: the
    classes that it is shown with values and types, as by `items: list[Item]`, and the function
    `ask`.
    """

    def __init__(
        self,
        fixed: BlockNames,
        variables: FunctionType,
        types: Callable[[], Mapping[str, Any]] | None,
        namespace: MutableMapping[str, Any] | None,
    ) -> None:
        self.names, self.outputs, self.uses = fixed.names, fixed.outputs, fixed.uses
        self.class_name, self.first_parameter = fixed.class_name, fixed.first_parameter
        self.own, self.bindable, self.place = fixed.own, fixed.bindable, fixed.place
        self.parts = fixed.parts
        self.declared_nonlocal, self.host = fixed.declared_nonlocal, fixed.host
        self.global_names, self.future_flags = fixed.global_names, fixed.future_flags
        self.module: dict[str, Any] = variables.__globals__
        self.cells: dict[str, CellType] = dict(
            zip(variables.__code__.co_freevars, variables.__closure__ or (), strict=True)
        )
        typed = find_named_classes(types, fixed.known)
        self.type_names = tuple(typed)
        if typed:
            self.cells |= {name: cell for name, cell in typed.items() if cell is not None}
            self.global_names = self.global_names.union(typed.keys() - self.cells.keys())
        self.namespace = namespace
        if namespace is not None and isinstance(name := namespace.get("__qualname__"), str):
            self.host = name
        self.scratch: dict[str, CellType] = {}
        self.borrowed: dict[str, CellType] = {}
        self._lent: dict[str, UserValue] = {}
        self.packages: frozenset[str] = frozenset()
        """The packages whose classes are the program's own, besides the block's."""
        self.find_shown_classes: Callable[[], Iterable[type]] | None = None
        """Finds classes that the block may use by name, unless the program uses the name otherwise.

        It is called when code first uses a name that could be one of theirs.
        """
        self.watched: frozenset[str] = frozenset()
        self._earlier: dict[str, tuple[Bound, State | None]] = {}
        self.transcript = Transcript()
        self.touches = 0
        """Number of calls that contained code has made of the program."""
        self._declared_types = types

    def is_referenced(self, name: str) -> bool:
        """Return whether the prompt names this variable (mangled name)."""
        return name in self.cells or name in self.global_names or name in self.own

    @property
    def lent(self) -> dict[str, UserValue]:
        """The names that the runtime gives the block, with their values."""
        find, self.find_shown_classes = self.find_shown_classes, None
        if find is not None:
            for cls in find():
                name = get_class_name(cls)
                held = self.module.get(name, cls)
                if self.namespace is not None:
                    held = self.namespace.get(name, held)
                is_used = self.is_referenced(name) or hasattr(builtins, name)
                if held is cls and not is_used and name.isidentifier():
                    self._lent.setdefault(name, cls)
        return self._lent

    def is_lent(self, name: str) -> bool:
        """Return whether the runtime lends this name; no shown class is named like a builtin."""
        return name in self._lent or (not hasattr(builtins, name) and name in self.lent)

    def lend(self, name: str, value: UserValue) -> None:
        """Give the block a name while it runs, unless the prompt names a variable of that name."""
        if not self.is_referenced(name):
            self._lent[name] = value

    def can_bind(self, name: str) -> bool:
        """Return whether binding this mangled name binds a variable of the program or the block."""
        if name in self.bindable or name in self.scratch:
            return True
        return not (self.is_referenced(name) or is_a(self.lent.get(name), type))

    def find_cell(self, name: str) -> CellType | None:
        """Return a mangled name's cell, if it lives in one: the block's own, else the program's."""
        return self.scratch.get(name) or self.cells.get(name)

    def lookup(self, name: str) -> Bound | Absent:
        """Return the binding of `name`; builtins are found last."""
        found = self.find_value(name)
        return found if type(found) is Absent else Bound(found)

    def find_value(self, name: str) -> UserValue | Absent:
        """Return the value of `name`, or why it has none; builtins are found last."""
        if self.class_name is not None:
            name = mangle(name, self.class_name)
        cell = self.scratch.get(name) or self.cells.get(name)
        if cell is not None:
            try:
                return cell.cell_contents
            except ValueError:
                return Absent.UNBOUND
        if name in self.own and self.namespace is not None and name in self.namespace:
            return self.namespace[name]
        if (name in self.own or name in self.global_names) and name in self.module:
            return self.module[name]
        if name in self.lent:
            return self.lent[name]
        if hasattr(builtins, name):
            return getattr(builtins, name)
        return Absent.UNBOUND if self.is_referenced(name) else Absent.UNKNOWN

    def list_variables(self, names: Iterable[str] | None = None) -> dict[str, UserValue]:
        """Return the bound variables of these names: by default the prompt's, then the block's."""
        found: dict[str, UserValue] = {}
        for name in (*self.names, *self.scratch) if names is None else names:
            value = self.find_value(name)
            if type(value) is not Absent:
                found[name] = value
        return found

    def list_visible(self, names: Iterable[str] | None = None) -> dict[str, UserValue]:
        """Return the same, but of a variable that the prompt names in part only those parts.

        Parts are read without running code: those that only code returns are left out.
        """
        found = self.list_variables(names)
        for name in found.keys() & self.parts.keys() if self.parts else ():
            del found[name]
            parts = ((path, self.read_part(path)) for path in self.parts[name])
            found |= {path: part.value for path, part in parts if isinstance(part, Bound)}
        return found

    def list_named(self, name: str, value: UserValue) -> dict[str, UserValue]:
        """Return a variable as the prompt names it: itself, or a module's parts that it reads."""
        if not self.uses:
            return {name: value}
        parts = {
            path: found
            for path in self.uses
            if path.startswith(f"{name}.")
            for found in [find_part(value, path.split(".")[1:])]
            if found is not None
        }
        return parts or {name: value}

    def list_inputs(self, reads: Collection[str]) -> dict[str, UserValue]:
        """Return the bound inputs as the prompt names them; it also reads the outputs `reads`."""
        inputs: dict[str, UserValue] = {}
        for name in self.names:
            if name not in self.outputs or name in reads:
                value = self.find_value(name)
                if name in self.parts:
                    inputs |= self.list_visible([name])
                elif type(value) is not Absent:
                    inputs |= self.list_named(name, value)
        return inputs

    def list_used_functions(self) -> list[FunctionType]:
        """Return the functions that the prompt names as parts of modules."""
        if not self.uses:
            return []
        return [value for value in self.list_named_values() if type(value) is FunctionType]

    def list_named_values(self) -> list[UserValue]:
        """Return the values of all variables, as the prompt names them."""
        named = (self.list_named(name, value) for name, value in self.list_variables().items())
        return [value for parts in named for value in parts.values()]

    def is_bound(self, path: str) -> bool:
        """Return whether the variable, or for `a.b` the attribute path, has a value."""
        name, *attributes = path.split(".")
        found = self.lookup(name)
        is_found = isinstance(found, Bound)
        return is_found and type(read_path(found.value, attributes)) is not Absent

    def assign(self, name: str, value: UserValue) -> Refusal | None:
        """Bind `name`: an output in the program, another in the block. Return the refusal, if any.

        An output such as `self.total` sets an attribute; exceptions from the object's `__setattr__`
        propagate.
        """
        if "." in name and name in self.outputs:
            owner, _, attribute = name.rpartition(".")
            private = mangle(attribute, self.class_name)
            setattr(self.read_value(owner), private, value)
            self.note_binding(f".{private}")
            return None
        private = name if self.class_name is None else mangle(name, self.class_name)
        if not self.can_bind(private):
            found = self.lookup(name)
            value = found.value if isinstance(found, Bound) else None
            return Refusal(format_read_only_error(name, value))
        self._bind(private, value)
        return None

    def rebind(self, name: str, value: UserValue) -> None:
        """Bind a variable as a debugger does, even if it is the program's and only read."""
        name = mangle(name, self.class_name)
        if name in self.bindable or not self.is_referenced(name):
            self._bind(name, value)
        else:
            self._store(name, value)

    def unbind(self, name: str) -> None:
        """Unbind `name`, as `del` would; do nothing if it is not bound."""
        name = mangle(name, self.class_name)
        if (cell := self.find_cell(name)) is not None:
            try:
                del cell.cell_contents
            except ValueError:
                return
        elif name in self.own and self.namespace is not None:
            self.namespace.pop(name, None)
        elif name in self.global_names:
            self.module.pop(name, None)

    def ensure_own_cell(self, name: str) -> CellType:
        """Return the block's own variable of a mangled name, created on the first call.

        If it hides a variable of the program, it starts with that variable's value.
        """
        if name not in self.scratch:
            cell = CellType()
            if self.is_referenced(name) and isinstance(found := self.lookup(name), Bound):
                cell.cell_contents = found.value
            self.scratch[name] = cell
        return self.scratch[name]

    def save_bindings(self) -> SavedBindings:
        """Return the current bindings of the bindable outputs."""
        return {name: self._read_binding(name) for name in sorted(self.bindable)}

    def restore_bindings(self, bindings: SavedBindings) -> None:
        for name, was in bindings.items():
            if type(was) is Absent:
                self.unbind(name)
            else:
                self._bind(name, was)

    @cached_property
    def types(self) -> Mapping[str, Any]:
        """The declared types of the outputs, by path, without types that cannot be evaluated."""
        if self._declared_types is None:
            return {}
        try:
            return resolve_types(self._declared_types, self.module, self.namespace, self.bindable)
        except OutputTypeError as error:
            error.place, error.args = self.place, (f"{self.place}: {error}",)
            raise

    def list_local_types(self) -> list[tuple[str, UserValue]]:
        """Return the variables of functions that the types of outputs name, with their values."""
        declare = self._declared_types
        cells = declare.__code__.co_freevars if isinstance(declare, FunctionType) else ()
        return [pair for pair in list_type_variables(declare) if pair[0] in cells]

    def has_unresolved_type(self, path: str) -> bool:
        """Return whether a path that is not in `types` has a type, which could not be evaluated."""
        declare = self._declared_types
        return declare is not None and is_declared(path, declare, self.bindable)

    def watch_outputs(self, reads: Collection[str]) -> None:
        """Require outputs that are already bound to be bound again, or their objects to be changed.

        Outputs that the prompt `reads` may stay as they are.
        """
        for path in self.outputs:
            name = mangle(path, self.class_name)
            if path not in reads and isinstance(found := self._read_output(name), Bound):
                self._earlier[name] = found, read_state(found.value)
                self.watched |= {name[max(0, name.rfind(".")) :]}

    def note_binding(self, name: str) -> None:
        """Record that the block bound a watched output (mangled), or set an attribute (`.name`)."""
        is_meant = str.endswith if name.startswith(".") else str.__eq__
        if self._earlier:
            self._earlier = {
                key: was for key, was in self._earlier.items() if not is_meant(key, name)
            }

    def _read_output(self, path: str) -> Bound | Absent:
        """Return an output's binding, or an attribute's value, without running code of its object.

        Where only such code returns the value, as for a property, the object is returned instead.
        """
        name, *attributes = path.split(".")
        value = self._read_binding(mangle(name, self.class_name))
        found: Bound | Absent = value if type(value) is Absent else Bound(value)
        for attribute in attributes:
            if not isinstance(found, Bound):
                break
            owner = found.value
            found = read_attribute(owner, mangle(attribute, self.class_name))
            if isinstance(found, Bound) and found.value is owner:
                break
        return found

    def read_part(self, path: str) -> Bound | Absent:
        """Return the value of a part, without running code: unbound if only code returns it."""
        owner, part = self.lookup(path.partition(".")[0]), self._read_output(path)
        is_itself = (
            isinstance(owner, Bound) and isinstance(part, Bound) and part.value is owner.value
        )
        return Absent.UNBOUND if is_itself else part

    def list_unchanged_outputs(self) -> tuple[str, ...]:
        """Return the watched outputs that the block has neither bound nor changed."""
        return tuple(filter(self._is_unchanged, self.outputs)) if self._earlier else ()

    def _is_unchanged(self, path: str) -> bool:
        name = mangle(path, self.class_name)
        if name not in self._earlier:
            return False
        was, state = self._earlier[name]
        found = self._read_output(name)
        is_same = type(found) is type(was) and isinstance(found, Bound) and found.value is was.value
        return is_same and is_same_state(state, read_state(was.value))

    def list_unbound_outputs(self) -> tuple[str, ...]:
        """Return the outputs that have no value yet, in the order of the prompt."""
        return tuple(filterfalse(self._is_set, self.outputs))

    def misfits(self, checked: Mapping[str, UserValue]) -> list[str]:
        """Return a line per bound output that neither fits its type nor is its `checked` value."""
        lines: list[str] = []
        for path, declared in self.types.items():
            value = self.find_value(path)
            is_plain = type(value) is declared and declared in _ATOMS
            if not is_plain and self._is_set(path):  # checking it may run code of the program
                value = self.read_value(path)
                is_checked = value is checked.get(path, Absent.UNKNOWN)
                if not is_checked and (problem := find_type_mismatch(value, declared, self.module)):
                    lines.append(f"`{path}`: {problem}")
        return lines

    def read_value(self, path: str) -> UserValue:
        """Return the value at a path such as `player.attack`; the root must be bound."""
        name, *attributes = path.split(".")
        found = self.lookup(name)
        if not isinstance(found, Bound):
            raise NameError(f"{name} is {found.value}")
        value = found.value
        for attribute in attributes:
            value = getattr(value, mangle(attribute, self.class_name))
        return value

    def close(self) -> None:
        """Release the program's variables, so the block keeps no frame, cell or value alive."""
        self._declared_types = self.namespace = None
        vars(self).pop("types", None)
        self._earlier.clear()
        self.transcript.close()
        self.find_shown_classes = None
        self._lent.clear()
        for cells in (self.cells, self.scratch, self.borrowed):
            cells.clear()

    def _is_set(self, path: str) -> bool:
        """Return whether an output has a value; without a type, `...` is none: models copy it."""
        name, *attributes = path.split(".")
        value = self._read_binding(mangle(name, self.class_name))
        if attributes and type(value) is not Absent:
            value = read_path(value, [mangle(each, self.class_name) for each in attributes])
        if value is ... and path not in self.types:
            return self.has_unresolved_type(path)
        return type(value) is not Absent

    def _read_binding(self, name: str) -> UserValue | Absent:
        """Like `find_value`, of a mangled name, but only at the place of an assignment."""
        cell = self.scratch.get(name) or self.cells.get(name)
        if cell is not None:
            try:
                return cell.cell_contents
            except ValueError:
                return Absent.UNBOUND
        where = self.namespace if name in self.own else self.module
        if where is not None and name in where:
            return where[name]
        return Absent.UNBOUND

    def _bind(self, name: str, value: UserValue) -> None:
        self.note_binding(name)
        if name not in self.bindable:
            self.ensure_own_cell(name).cell_contents = value
        else:
            self._store(name, value)

    def _store(self, name: str, value: UserValue) -> None:
        if (cell := self.scratch.get(name) or self.cells.get(name)) is not None:
            cell.cell_contents = value
        elif name in self.own and self.namespace is not None:
            self.namespace[name] = value
        else:
            self.module[name] = value


_ATOMS = (str, int, float, bool, type(None))
