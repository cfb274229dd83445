"""The child: running one piece of code on its own copies of the program's objects.

    ["start", {...}, delta]                from the program: code, names, objects
    ["call", delta, target, args, named]   to the program: what has changed so far, and a call
    ["end", delta, 3, None]                to the program: the code ended by `break`

The program's names are variables here. Each message carries the outputs that the code has bound,
and each reply sets the names that the program has bound meanwhile.
"""

from __future__ import annotations

import builtins
import io
import marshal
import sys
import traceback
from collections.abc import Callable, Coroutine
from contextlib import suppress
from types import CellType, CodeType, FunctionType
from typing import Any

from njrt.execution.contained import rebuild
from njrt.execution.contained.apply import update
from njrt.execution.contained.contents import MISSING, StateError
from njrt.execution.contained.known import list_codes
from njrt.execution.contained.loop import run_coroutine
from njrt.execution.contained.objects import Objects, describe_error
from njrt.execution.contained.state import UNBOUND
from njrt.execution.contained.wire import Connection, Data, set_decimal_context
from njrt.execution.interruptions import select_catchable
from njrt.execution.raised import RaisedError

_PAST_MARKS = {"vars", "__dict__", "__setattr__", "__delattr__"}
"""Names by which code sets attributes without `__setattr__` of the rebuilt classes."""


class _Output(io.TextIOBase):
    """Standard output for library functions that print, such as `pprint.pprint`."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show

    def write(self, text: str) -> int:
        self._show(text)
        return len(text)


class Child(Objects):
    """A piece of code in its process (state: names, how it ends)."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(self.call)
        self.connection = connection
        self.cells: dict[str, CellType] = {}
        self.globals: dict[str, Any] = {}
        self.places: dict[str, str] = {}
        self.known: dict[str, Any] = {}
        self.raised = RaisedError()
        self.is_filling = False

    # ── talking to the program ───────────────────────────────────────────────────────────────────

    def call(self, target: list[Any], args: Any, named: Any, is_async: bool = False) -> Any:
        """Have the program call a function; return its result, or a coroutine that does."""
        if self.is_filling:
            raise StateError("objects whose class computes `__hash__` by a call cannot be keys")
        if is_async:
            return self._call_later(target, args, named)
        return self.ask("call", *self._encode_call(target, args, named))

    async def _call_later(self, target: list[Any], args: Any, named: Any) -> Any:
        return self.ask("call", *self._encode_call(target, args, named))

    def _encode_call(self, target: list[Any], args: Any, named: Any) -> list[Data]:
        kind, *parts = target
        encode = self.table.encode
        try:
            if kind in ("method", "get", "set"):
                parts[0] = self.table.encode(parts[0])
            values = [*map(encode, args)]
            options = {key: encode(value) for key, value in named.items()}
            delta = self._take("output")
        except StateError as error:
            self.table.forget_added()
            raise TypeError(str(error)) from None
        return [delta, [kind, *parts], values, options]

    def ask(self, kind: str, *parts: Any) -> Any:
        """Send a message; return the program's answer, or raise its exception."""
        self.connection.send([kind, *parts])
        while True:
            answer, classes, delta, value = self.connection.receive()
            self.read_delta(classes, delta)
            decode = self.table.decode
            match answer:
                case "result":
                    return decode(value)
                case "error":
                    raise decode(value)

    def read_delta(self, classes: list[Any], delta: Data) -> None:
        """Take over what the program has changed."""
        self.describe(classes)
        if delta is not None:
            self.is_filling = True
            for name, value in update(self.table, delta).items():
                self.bind(name, value)
            self.is_filling = False
        self.table.remember()

    # ── names ────────────────────────────────────────────────────────────────────────────────────

    def bind(self, name: str, value: Any) -> None:
        """Bind a name to the program's value."""
        self.known[name] = value
        cell = self.cells.get(name)
        if cell is None:
            if value is MISSING:
                self.globals.pop(name, None)
            else:
                self.globals[name] = value
        elif value is not MISSING:
            cell.cell_contents = value
        else:
            with suppress(ValueError):
                del cell.cell_contents

    def read(self, name: str) -> Any:
        """Return the value of a name, or `MISSING`."""
        cell = self.cells.get(name)
        if cell is None:
            return self.globals.get(name, MISSING)
        try:
            return cell.cell_contents
        except ValueError:
            return MISSING

    def _take(self, *places: str) -> Data:
        """Return what has changed, and the names of these places that the code has bound.

        A value that cannot cross is left out, and one of the block's own names unbound. Raises
        TypeError for changes that cannot cross.
        """
        found: dict[str, Data] = {}
        for name in [name for name, place in self.places.items() if place in places]:
            value = self.read(name)
            if value is self.known[name]:
                continue
            if value is not MISSING and self.can_cross(value):
                found[name] = self.table.encode(value)
            elif value is MISSING or self.places[name] == "own":
                found[name] = UNBOUND
        try:
            delta = self.take_delta(found)
        except StateError as error:
            self.table.forget_added()
            raise TypeError(str(error)) from None
        self.known |= {name: self.read(name) for name in found}
        return delta

    def _check_outputs(self) -> None:
        """Raise TypeError if an output is bound to what ends with the code."""
        for name in [name for name, place in self.places.items() if place == "output"]:
            value = self.read(name)
            is_bound = value is not self.known[name] and value is not MISSING
            if is_bound and (obstacle := self.find_obstacle(value)):
                raise TypeError(f"`{name}`: {obstacle}")

    # ── running the code ─────────────────────────────────────────────────────────────────────────

    def run(self) -> None:
        """Receive a piece of code, run it, and send how it ended."""
        _, start, classes, delta = self.connection.receive()
        set_decimal_context(start["decimal"])
        code = marshal.loads(start["code"].encode("latin-1"))
        for name, place in start["places"].items():
            self.places[name] = place.removeprefix("global ")
            if not place.startswith("global "):
                self.cells[name] = CellType()
            self.known[name] = MISSING
        replaced = self._replace_builtins(set(start["modules"]))
        self.modules |= {name: rebuild.Module(name) for name in start["members"]}
        self.read_delta(classes, delta)
        for name, members in start["members"].items():
            held = {key: self.table.decode(data) for key, data in members.items()}
            self.modules[name].__dict__.update(held)
        self.table.is_marked = _list_words(code).isdisjoint(_PAST_MARKS)
        private = {
            ".raised": self.raised.record,
            ".catchable": select_catchable,
            ".bound": lambda name: self.ask("note", None, name),
        }
        given = {
            name: replaced.get(name, getattr(builtins, name, None)) for name in start["borrowed"]
        }
        cells = {name: CellType(value) for name, value in {**given, **private}.items()}
        cells |= self.cells
        self.globals = {"__name__": "__main__", **self.globals}
        self.globals["__builtins__"] = {**vars(builtins), **replaced}
        closure = tuple(cells.get(name) or CellType() for name in code.co_freevars)
        function = FunctionType(code, self.globals, code.co_name, None, closure)
        handled = self.table.decode(start["handled"])
        if handled is None:
            self._run_function(function, code)
            return
        self.raised.handled = handled
        try:
            raise handled
        except BaseException:
            self._run_function(function, code)

    def _run_function(self, function: Callable[[], Any], code: CodeType) -> None:
        """Call the function of the code, and send how it ended."""
        try:
            result = function()
            if isinstance(result, Coroutine):
                result = run_coroutine(result)
            kind, value = result if result is not None else (0, None)
            self._send_end(kind, value)
        except BaseException as error:
            self._send_error(error, code)

    def _send_end(self, kind: int, value: Any) -> None:
        self.table.is_marked = False  # what was set in other ways is found now
        self._check_outputs()
        obstacle = self.find_obstacle(value)
        if obstacle is not None and kind != 1:
            raise TypeError(str(obstacle))
        data = ["shown", repr(value)] if obstacle else self.table.encode(value)
        delta = self._take("output", "own")
        self.connection.send(["end", delta, kind, data])

    def _send_error(self, error: BaseException, code: CodeType) -> None:
        """Send an exception from the code: either raised for the program, or a mistake."""
        self.table.is_marked = False
        frames = [
            [None if frame.f_code is code else frame.f_code.co_name, line]
            for frame, line in traceback.walk_tb(error.__traceback__)
            if frame.f_code.co_filename == code.co_filename
        ]
        is_own = self.raised.is_own_error(error)
        is_unbound = type(error) in (NameError, UnboundLocalError)
        name = getattr(error, "name", None) if is_unbound else None
        text = describe_error(error)
        if obstacle := self.find_obstacle(error):
            text = f"{text} ({obstacle})" if is_own else text
            error, is_own = RuntimeError(describe_error(error)), False
        data = self.table.encode(error)
        try:
            self._check_outputs()
            delta = self._take("output", "own")
        except TypeError as problem:
            self.table.forget_added()
            text = f"TypeError: {problem}\n  when it raised {text}" if is_own else text
            is_own = False
            data = self.encode_error(error)
            delta = [[], self.table.write_added(len(self.table.known))[1], {}]
        rest = [data, frames, is_own, self.raised.reraises, name, text]
        self.connection.send(["failed", delta, *rest])

    # ── builtins that differ here ────────────────────────────────────────────────────────────────

    def _replace_builtins(self, modules: set[str]) -> dict[str, Any]:
        """Return the builtins that know the block's names, or that the program performs."""

        def print_text(
            *values: object,
            sep: str | None = " ",
            end: str | None = "\n",
            file: Any = None,
            flush: bool = False,
        ) -> None:
            if file is not None:
                return builtins.print(*values, sep=sep, end=end, file=file, flush=flush)
            text = (" " if sep is None else sep).join(map(str, values))
            self.ask("print", None, text, "\n" if end is None else end)
            return None

        def import_module(
            path: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
        ) -> Any:
            top = path.partition(".")[0]
            if top in self.modules:
                return self.modules.get(path if fromlist else top)
            if path not in sys.modules:
                raise ImportError(f"`{path}` cannot be imported in contained code")
            return sys.modules[path if fromlist else top]

        def list_variables() -> dict[str, Any]:
            found = {name: self.read(name) for name in self.places}
            return {name: value for name, value in found.items() if value is not MISSING}

        sys.stdout = _Output(lambda text: self.ask("print", None, text, ""))
        return {
            "print": print_text,
            "__import__": import_module,
            "dir": lambda *args: builtins.dir(*args) if args else sorted(list_variables()),
            "vars": lambda *args: builtins.vars(*args) if args else list_variables(),
            "locals": list_variables,
        }


def _list_words(code: CodeType) -> set[str]:
    """Return the names and texts in code and in what is nested in it."""
    parts = [(*it.co_names, *it.co_freevars, *it.co_consts) for it in list_codes(code)]
    return {it for part in parts for it in part if type(it) is str}
