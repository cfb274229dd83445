"""What the program and a child have exchanged: commits, answers, and how to undo them.

session.commit(delta)              check and apply what the code has changed so far
session.take_delta(result, True)   what the program has changed since, and a result
session.undo()                     put back what the code has changed
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from njrt.execution.contained.apply import Done, apply_delta, undo
from njrt.execution.contained.changes import Change, edit_changes, list_changes, list_set
from njrt.execution.contained.contents import MISSING, StateError
from njrt.execution.contained.making import check_value, make_objects, read_delta
from njrt.execution.contained.names import Names
from njrt.execution.contained.program import Program, list_members
from njrt.execution.contained.state import UNBOUND, Delta, Table
from njrt.execution.contained.wire import Data, WireError, measure

Encode = Callable[[Any], Data]


class Shown:
    """The last value of a piece of code, only as its text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


class RejectedError(Exception):
    """The changes of the code were rejected, which ends it; the message is for the model."""


class Session:
    """The exchange with one child (state: what was applied)."""

    def __init__(self, names: Names) -> None:
        self.names = names
        module = names.scope.module.get("__name__", "")
        name = module.partition(".")[0] if type(module) is str else ""
        self.program = Program({name, *names.scope.packages}, names.modules)
        self._done: list[Done] = []

    def close(self) -> None:
        self._done.clear()
        self.names.close()
        del self.program

    # ── to the child ─────────────────────────────────────────────────────────────────────────────

    def start(self) -> tuple[list[Data], Data, Data]:
        """Return the members of modules, the state, and the exception that is being handled."""
        program, names = self.program, self.names
        modules = {
            name: list_members(module, names.list_parts(module))
            for name, module in names.modules.items()
        }
        for value in (
            *names.list_named(),
            *(it for held in modules.values() for it in held.values()),
        ):
            program.allow(value)
        error = sys.exception()
        handled = None if isinstance(error, BaseExceptionGroup) else error

        def write(encode: Encode) -> Data:
            pairs = [(name, held.items()) for name, held in modules.items()]
            return [[name, [[key, encode(it)] for key, it in held]] for name, held in pairs]

        delta, (members, raised) = self.take(lambda encode: [write(encode), encode(handled)])
        program.mark_writable([data for _, held in members for _, data in held])
        program.table.remember()
        return members, delta, raised

    def _encode(self, name: str, value: Any) -> Data:
        try:
            return UNBOUND if value is MISSING else self.program.table.encode(value)
        except StateError as error:
            raise StateError(f"`{name}`: {error}") from None

    def describe_largest(self) -> str:
        """Return the name whose value is the largest, with its size."""
        sizes: list[tuple[int, str]] = []
        for name in self.names.places:
            value = self.names._readers[name]()
            table = Table(self.program)
            if value is not MISSING:
                sizes.append((measure([table.encode(value), table.read_added()]), name))
        size, name = max(sizes, default=(0, "the state"))
        return f"`{name}` has {size / 1e6:.0f} MB"

    def take(self, write: Callable[[Encode], Data], is_writable: bool = False) -> tuple[Data, Data]:
        """Return what the program has changed since the last message, and what `write` returns.

        `is_writable` is whether the code may change the new objects in it.
        """
        table = self.program.table
        try:
            changed = table.find_changed()
            bound = [(name, self._encode(name, it)) for name, it in self.names.list_changed()]
            added = table.read_added()
            table.send(changed.items(), added)
            self.program.mark_writable([["r", n] for n in self._list_reached(changed, added)])
            self.program.mark_writable([data for _, data in bound])
            data = write(table.encode)
            results = table.read_added()
        except StateError:
            table.forget_added()
            raise
        first = len(table.rows)
        table.agree((), results)
        if is_writable:
            self.program.mark_writable([["r", n] for n in range(first, len(table.rows))])
        return Delta([*changed.items()], [*added, *results], bound).write(), data

    def _list_reached(self, changed: dict[int, Any], added: Sequence[Any]) -> list[int]:
        """Return the new objects that what the code may change now holds."""
        first = len(self.program.table.rows) - len(added)
        rows = [row for number, row in changed.items() if number in self.program.writable]
        held = [it for row in rows for it in (*row[2], *row[3]) if type(it) is list]
        return [it[1] for it in held if it[0] == "r" and it[1] >= first]

    # ── from the child ───────────────────────────────────────────────────────────────────────────

    def commit(self, data: Data) -> None:
        """Apply what the code has changed; nothing if that is refused.

        Raises WireError, StateError, ConflictError, and StateError for errors of the program's
        own methods.
        """
        program, table = self.program, self.program.table
        delta = read_delta(data, len(table.rows))
        for name, _ in delta.names:
            self.names.check(name)
        first = len(table.rows)
        edited = delta

        def decide(asked: Delta, objects: Sequence[Any]) -> Delta:
            nonlocal edited
            edited = self._decide(asked, objects)
            return edited

        asks = program.asks_changes and (delta.changed or delta.names)
        try:
            self._done += apply_delta(table, delta, program, decide if asks else None)
        except Exception as error:
            if type(error).__module__.startswith("njrt."):
                raise
            raise StateError(f"{type(error).__name__}: {error}") from None
        program.writable.update(range(first, len(table.rows)))
        table.remember()  # before a function of the program can change the new objects
        known = dict(delta.names)
        for name, value in dict(edited.names).items():
            bound = MISSING if value == UNBOUND else table.decode(value)
            self.names.bind(name, bound, is_edited=value is not known[name])

    def _decide(self, delta: Delta, objects: Sequence[Any]) -> Delta:
        """Return the changes with the interceptors' edits."""
        values = self.names.read()
        bound = [(name, it) for name, it in delta.names if self.names.places[name] != "own"]
        shown = Delta(delta.changed, delta.added, bound)
        changes = list_changes(self.program.table, values, shown, objects)
        return edit_changes(delta, changes, self._ask(changes)) if changes else delta

    def decide_value(self, owner: Any, name: str, value: Any) -> Any:
        """Return the value for an attribute that is set by a call, as the interceptors edit it."""
        if not self.program.asks_changes:
            return value
        change = list_set(self.program.table, self.names.read(), owner, name, value)
        return self._ask([change]).get(change.path, value)

    def _ask(self, changes: Sequence[Change]) -> Mapping[str, Any]:
        """Return the edited values; raise RejectedError, or the error that ends the block."""
        try:
            edits: Mapping[str, Any] = self.program.gate.decide_changes(
                {it.path: it.write() for it in changes}
            )
        except PermissionError as error:
            raise RejectedError(str(error)) from None
        return edits

    def decode(self, data: Data) -> Any:
        """Return the value for data; an object only for the text of what cannot cross."""
        match data:
            case ["shown", str(text)]:
                return Shown(text)
        check_value(data, len(self.program.table.rows))
        return self.program.table.decode(data)

    def decode_arguments(self, args: Data, named: Data) -> tuple[list[Any], dict[str, Any]]:
        pairs = [(key, value) for key, value in map(_read_pair, named)]
        return [*map(self.decode, args)], {key: self.decode(value) for key, value in pairs}

    def decode_mistake(self, data: Data, error: Data) -> Any:
        """Return the exception of code that failed, whose changes are not applied."""
        table = self.program.table
        delta = read_delta(data, len(table.rows))
        check_value(error, len(table.rows) + len(delta.added))
        try:
            objects = [*table.objects, *make_objects(delta.added, table)]
        except StateError as problem:
            return TypeError(str(problem))
        return objects[error[1]] if type(error) is list and error[0] == "r" else error

    def undo(self) -> None:
        """Put back what the code has changed, unless it has been changed since."""
        undo(self._done)
        self._done.clear()
        self.names.restore()


def _read_pair(pair: Data) -> tuple[str, Data]:
    match pair:
        case [str(key), value]:
            return key, value
    raise WireError("not a named argument")
