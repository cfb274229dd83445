"""What the program and a child have exchanged: commits, answers, and how to undo them.

session.commit(delta)              check and apply what the code has changed so far
session.take_delta(result, True)   what the program has changed since, and a result
session.undo()                     put back what the code has changed
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

from njrt.execution.contained.apply import Difference, Done, apply_delta, undo
from njrt.execution.contained.changes import Change, edit_changes, list_changes
from njrt.execution.contained.contents import MISSING, StateError
from njrt.execution.contained.making import Delta, read_delta
from njrt.execution.contained.names import Names
from njrt.execution.contained.program import Program
from njrt.execution.contained.state import UNBOUND, Table
from njrt.execution.contained.wire import Data, measure

Encode = Callable[[Any], Data]


class RejectedError(Exception):
    """The changes of the code were rejected, which ends it; the message is for the model."""


class Session:
    """The exchange with one child (state: what was applied)."""

    def __init__(self, names: Names) -> None:
        self.names = names
        module = names.scope.module.get("__name__", "")
        name = module.partition(".")[0] if type(module) is str else ""
        self.program = Program({name, *names.scope.packages}, names.modules, names.list_owners)
        self.handled: BaseException | None = None
        """The exception that the program handles around the block, which the code may raise."""
        self._done: list[Done] = []

    # ── to the child ─────────────────────────────────────────────────────────────────────────────

    def start(self) -> tuple[Data, Data, Data]:
        """Return the members of modules, the state, and the exception that is being handled."""
        program, modules = self.program, self.names.members
        parts = [it for held in modules.values() for it in held.values()]
        for value in (*self.names.list_named(), *parts):
            program.allow(value)
        error = sys.exception()
        self.handled = handled = None if isinstance(error, BaseExceptionGroup) else error

        def write(encode: Encode) -> Data:
            return {
                name: {key: encode(it) for key, it in held.items()}
                for name, held in modules.items()
            }

        delta, (members, raised) = self.take(lambda encode: [write(encode), encode(handled)])
        program.mark_writable(parts)
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
        for name, value in self.names.read().items():
            table = Table(self.program)
            if value is not MISSING:
                sizes.append((measure([table.encode(value), table.write_added(0)[1]]), name))
        size, name = max(sizes, default=(0, "the state"))
        return f"`{name}` has {size / 1e6:.0f} MB"

    def take(self, write: Callable[[Encode], Data], is_writable: bool = False) -> tuple[Data, Data]:
        """Return what the program has changed since the last message, and what `write` returns.

        `is_writable` is whether the code may change the new objects in it.
        """
        table, program, known = self.program.table, self.program, len(self.program.table.known)
        try:
            changed = table.find_changed()
            names = self.names.list_changed()
            bound = {name: self._encode(name, it) for name, it in names}
            rows = table.write_changed(changed)
            images, added = table.write_added(known)
            first = len(table.objects)
            data = write(table.encode)
            more, results = table.write_added(first)
        except StateError:
            table.forget_added()
            raise
        table.agree(changed, [*images, *more])
        reached = [it for n, image in changed.items() if n in program.writable for it in image]
        new = (it for it in chain(*reached) if table.numbers.get(id(it), -1) >= known)
        program.mark_writable([*new, *(it for _, it in names)])
        if is_writable:
            program.mark_writable(table.objects[first:])
        return [rows, [*added, *results], bound], data

    # ── from the child ───────────────────────────────────────────────────────────────────────────

    def commit(self, data: Data) -> None:
        """Apply what the code has changed; nothing if that is refused.

        Raises WireError, StateError, ConflictError, and StateError for errors of the program's
        own methods.
        """
        program, table = self.program, self.program.table
        first = len(table.known)
        try:
            done, asked, delta = apply_delta(table, data, program, self._decide)
        except Exception as error:
            if type(error).__module__.startswith("njrt."):
                raise
            raise StateError(f"{type(error).__name__}: {error}") from None
        self._done += done
        program.writable.update(range(first, len(table.known)))
        table.remember()  # before a function of the program can change the new objects
        for name, value in delta.names.items():
            self.names.bind(name, value, is_edited=value is not asked.names[name])

    def _decide(self, delta: Delta, differences: Sequence[Difference]) -> Delta:
        """Return the changes with the interceptors' edits."""
        for name in delta.names:
            self.names.check(name)
        if not self.program.asks_changes:
            return delta
        bound = {n: it for n, it in delta.names.items() if self.names.places[n] != "own"}
        changes = list_changes(self.program.table, self.names.read(), bound, differences)
        return edit_changes(delta, changes, self._ask(changes)) if changes else delta

    def _ask(self, changes: Sequence[Change]) -> Mapping[str, Any]:
        """Return the edited values; raise RejectedError, or the error that ends the block."""
        try:
            edits: Mapping[str, Any] = self.program.gate.decide_changes(
                {it.path: it.write() for it in changes}
            )
        except PermissionError as error:
            raise RejectedError(str(error)) from None
        return edits

    def decode_mistake(self, data: Data, error: Data) -> Any:
        """Return the exception of code that failed, whose changes are not applied."""
        table = self.program.table
        try:
            read_delta(table, data)
            return table.decode(error)
        except StateError as problem:
            return TypeError(str(problem))
        finally:
            table.forget_added()

    def undo(self) -> None:
        """Put back what the code has changed, unless it has been changed since."""
        undo(self._done)
        self._done.clear()
        self.names.restore()
