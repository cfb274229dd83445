"""The child: running one piece of code for its program.

    ["start", code, names, ...]          from the program: the compiled code, and what its names are bound to
    ["touch", "get", ...]                to the program, whenever the code touches one of its objects
    ["end", 3, None, ...]                to the program: the code ended by `break`

The program's names are variables here. Each message carries the outputs that the code has bound, and each reply sets
the names that the program has bound meanwhile, so both sides always see the same values.
"""

from __future__ import annotations

import builtins
import io
import marshal
import sys
import traceback
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from types import CellType, CodeType, FunctionType
from typing import Any

from njrt.execution.contained.proxies import CannotCross, Interrupted, Proxies, ProxyType
from njrt.execution.contained.wire import Connection, Data, set_decimal_context
from njrt.execution.raised import RaisedError

_UNBOUND = ["unbound"]
_MISSING = object()


class _Output(io.TextIOBase):
    """Standard output for library functions that print, such as `pprint.pprint`."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show

    def write(self, text: str) -> int:
        self._show(text)
        return len(text)


class Variables:
    """The program's names, and the names that the code keeps for the next piece."""

    def __init__(self, proxies: Proxies, names: list[Data]) -> None:
        self.proxies = proxies
        self.cells: dict[str, CellType] = {}
        self.globals: dict[str, Any] = {}
        self.sent: list[str] = []
        self.kept: list[str] = []
        self._known: dict[str, Any] = {}
        for name, place, data in names:
            if place not in ("global", "bound global"):
                self.cells[name] = CellType()
            if place in ("output", "bound global"):
                self.sent.append(name)
            elif place == "own":
                self.kept.append(name)
            self.set(name, data)

    def set(self, name: str, data: Data) -> None:
        """Bind a name to the program's value."""
        value = _MISSING if data == _UNBOUND else self.proxies.decode(data)
        self._known[name] = value
        cell = self.cells.get(name)
        if cell is None:
            if value is _MISSING:
                self.globals.pop(name, None)
            else:
                self.globals[name] = value
        elif value is not _MISSING:
            cell.cell_contents = value
        else:
            with suppress(ValueError):
                del cell.cell_contents

    def read(self, name: str) -> Any:
        """Return the value of a name, or `_MISSING`."""
        cell = self.cells.get(name)
        if cell is None:
            return self.globals.get(name, _MISSING)
        try:
            return cell.cell_contents
        except ValueError:
            return _MISSING

    def encode_changes(self, names: list[str]) -> list[Data]:
        """Return `[name, data]` for names bound to an object other than the program knows, if it can cross."""
        changes: list[Data] = []
        for name, value in self.list_unknown(names):
            with suppress(CannotCross):
                data = _UNBOUND if value is _MISSING else self.proxies.encode_kept(value)
                self._known[name] = value
                changes.append([name, data])
        return changes

    def list_unknown(self, names: list[str]) -> list[tuple[str, Any]]:
        """Return the names that are bound to an object other than the program knows, with their values."""
        values = [(name, self.read(name)) for name in names]
        return [(name, value) for name, value in values if value is not self._known[name]]

    def encode_kept(self) -> list[Data]:
        """Return the block's own names as they are at the end; functions and the like are lost with the child."""
        changes = self.encode_changes(self.kept)
        return [*changes, *([name, _UNBOUND] for name, _ in self.list_unknown(self.kept))]


class Child:
    """A piece of code in its process."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.proxies = Proxies(self.request)
        self.variables = Variables(self.proxies, [])
        self.modules: frozenset[str] = frozenset()
        self.raised = RaisedError()
        self.identified: dict[int, Any] = {}
        self._changes: list[Data] = []
        self._names: list[Data] = []
        self._released: list[int] = []

    # ── talking to the program ───────────────────────────────────────────────────────────────────

    def send(self, kind: str, *parts: Data, kept: list[Data] | None = None) -> None:
        """Send a message, with all changes since the last one."""
        names = [*self._names, *(kept or [])]
        self.connection.send([kind, self._changes, names, self._released, *parts])
        self._changes, self._names, self._released = [], [], []

    def collect(self, is_last: bool = False) -> None:
        """Collect the changes that the next message carries, before the message's own values are encoded."""
        for change in self.proxies.take_error_changes():
            self.request(*change)
        self._released += self.proxies.take_released()
        self._names += self.variables.encode_changes(self.variables.sent)
        with self.proxies.undo_on_error():
            self._changes += self.proxies.mirrors.encode_changes()
        for _, value in self.variables.list_unknown(self.variables.sent if is_last else []):
            self.proxies.encode_kept(value)

    def request(self, operation: str, *operands: Any) -> Any:
        """Have the program perform an operation; return its result or raise its exception."""
        self.collect()
        encode = self.proxies.encode
        data: list[Data]
        with self.proxies.undo_on_error():
            if operation == "call":
                target, args, named = operands
                options = {key: encode(value) for key, value in named.items()}
                values = [*map(self.proxies.encode_argument, [target, *args])]
                data = [values[0], values[1:], options]
            else:
                data = [*map(self.proxies.encode_operand, operands)]
        self.send("touch", operation, data)
        while True:
            kind, changes, names, *parts = self.connection.receive()
            self.proxies.mirrors.apply_changes(changes)
            for name, bound in names:
                self.variables.set(name, bound)
            match kind, parts:
                case "result", [result]:
                    return self.proxies.decode(result)
                case "error", [error]:
                    raise self.proxies.decode(error)
                case "interrupt", []:
                    raise Interrupted
                case "call", [number, args, named]:
                    self._call_back(number, args, named)

    def _call_back(self, number: int, args: list[Data], named: dict[str, Data]) -> None:
        """Call a function that the program was handed, and send how it ended."""
        decode = self.proxies.decode
        try:
            handed = self.proxies.handed_over[number]
            values = [*map(decode, args)]
            if hasattr(type(handed), "__next__"):
                result = next(handed)
            else:
                result = handed(*values, **{key: decode(value) for key, value in named.items()})
            self.collect()
            data = self.proxies.encode(result)
            self.send("returned", data)
        except Interrupted:
            raise
        except BaseException as error:
            self.collect()
            self.send("raised", self.encode_error(error))

    def encode_error(self, error: BaseException) -> Data:
        """Return the data of an exception or, if it cannot cross, of a TypeError with its text."""
        try:
            return self.proxies.encode(error)
        except CannotCross as problem:
            return self.proxies.encode(CannotCross(f"{describe_error(error)} ({problem})"))

    # ── running the code ─────────────────────────────────────────────────────────────────────────

    def run(self) -> None:
        """Receive a piece of code, run it, and send how it ended."""
        _, code_text, names, modules, handled, borrowed, context = self.connection.receive()
        set_decimal_context(context)
        code = marshal.loads(code_text.encode("latin-1"))
        self.variables = Variables(self.proxies, names)
        self.modules = frozenset(modules)
        replaced = self.replace_builtins()

        private = {
            ".raised": self.raised.record,
            ".catchable": select_catchable,
            ".manager": lambda manager: manager,
            ".async_manager": lambda manager: manager,
            ".type": find_shown_type,
            ".super": lambda cls, value: self.request("super", cls, value),
            ".bound": lambda name: self.request("note", name),
        }
        given = {name: replaced.get(name, getattr(builtins, name, None)) for name in borrowed}
        cells = {name: CellType(value) for name, value in {**given, **private}.items()}
        cells |= self.variables.cells
        self.variables.globals["__builtins__"] = {**vars(builtins), **replaced}
        closure = tuple(cells.get(name) or CellType() for name in code.co_freevars)
        function = FunctionType(code, self.variables.globals, code.co_name, None, closure)
        if handled is None:
            self.run_function(function, code)
            return
        self.raised.handled = self.proxies.decode(handled)
        try:
            raise self.raised.handled
        except BaseException:
            self.run_function(function, code)

    def run_function(self, function: Callable[[], Any], code: CodeType) -> None:
        """Call the function of the code, and send how it ended."""
        try:
            result = function()
            if isinstance(result, Coroutine):
                result = _run_coroutine(result)
            for handed in self.proxies.handed_over:
                if isinstance(handed, Generator):  # the program cannot
                    handed.close()
            kind, value = result if result is not None else (0, None)
            self.collect(is_last=True)
            kept = self.variables.encode_kept()
            data = self._encode_last(value) if kind == 1 else self.proxies.encode_kept(value)
            self.send("end", kind, data, kept=kept)
        except Interrupted:
            self.connection.send(["interrupted", [], [], []])
        except BaseException as error:
            self.send_error(error, code)

    def send_error(self, error: BaseException, code: CodeType) -> None:
        """Send an exception from the code: either raised for the program, or a mistake."""
        frames = [
            [None if frame.f_code is code else frame.f_code.co_name, line]
            for frame, line in traceback.walk_tb(error.__traceback__)
            if frame.f_code.co_filename == code.co_filename
        ]
        is_own = self.raised.is_own_error(error)
        is_unbound = type(error) in (NameError, UnboundLocalError)
        name = getattr(error, "name", None) if is_unbound else None
        try:
            self.collect(is_last=is_own)
        except Exception as problem:  # CannotCross, or the program refuses a change of an exception
            error, is_own = (problem, False) if is_own else (error, False)
        text, kept = None, self.variables.encode_kept()
        try:
            data = self.proxies.encode(error)
        except CannotCross as problem:
            data = self.proxies.encode(problem)
            text = str(problem) if is_own else describe_error(error)
            is_own = False
        self.send("failed", data, frames, is_own, self.raised.reraises, name, text, kept=kept)

    def _encode_last(self, value: Any) -> Data:
        """Return the data of the last value, which is only shown, or its text if it cannot cross."""
        try:
            return self.proxies.encode_kept(value)
        except CannotCross:
            return ["shown", repr(value)]

    # ── builtins that differ here ────────────────────────────────────────────────────────────────

    def replace_builtins(self) -> dict[str, Any]:
        """Return the builtins that handle proxies, or that the program performs."""
        request = self.request

        def print_text(
            *values: object, sep: str | None = " ", end: str | None = "\n", file: Any = None, flush: bool = False
        ) -> None:  # fmt: skip
            if file is not None:
                return builtins.print(*values, sep=sep, end=end, file=file, flush=flush)
            text = (" " if sep is None else sep).join(map(str, values))
            request("print", text, "\n" if end is None else end)
            return None

        def import_module(
            path: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
        ) -> Any:
            top = path.partition(".")[0]
            if top in self.modules or top == "asyncio":
                return request("import", path, bool(fromlist))
            if path not in sys.modules:
                raise ImportError(f"`{path}` cannot be imported in contained code")
            return sys.modules[path if fromlist else top]

        def list_variables() -> dict[str, Any]:
            own = {name: self.variables.read(name) for name in self.variables.kept}
            found = dict(zip(*map(list, request("variables")), strict=True))
            return found | {name: value for name, value in own.items() if value is not _MISSING}

        def read_variables(*args: Any) -> Any:
            if not args:
                return list_variables()
            if isinstance(type(args[0]), ProxyType) or type(args[0]) is ProxyType:
                raise TypeError("vars() of an object of the program is refused; use getattr")
            return builtins.vars(*args)

        class Super(super):
            """`super` that knows the program's classes."""

            def __new__(cls, *args: Any) -> Any:
                is_proxy = len(args) == 2 and type(args[0]) is ProxyType
                return request("super", *args) if is_proxy else super.__new__(cls)

        def find_id(value: object) -> int:
            if isinstance(type(value), ProxyType):  # it must stay here as long as in the program
                self.identified[id(value)] = value
            return id(value)

        sys.stdout = _Output(lambda text: request("print", text, ""))
        return {
            "id": find_id,
            "print": print_text,
            "super": Super,
            "__import__": import_module,
            "dir": lambda *args: builtins.dir(*args) if args else sorted(list_variables()),
            "vars": read_variables,
            "locals": read_variables,
            "type": TypeOf,
        }


class _TypeOfMeta(type):
    """Replaces `type` for proxies, to return the class that their object has in the program."""

    def __call__(cls, *args: Any, **named: Any) -> Any:
        if cls is not TypeOf:  # a metaclass of the code
            return super().__call__(*args, **named)
        if len(args) == 1 and not named:
            return find_shown_type(args[0])
        return type(*args, **named)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, type)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, type)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is type

    def __hash__(cls) -> int:
        return hash(type)


class TypeOf(type, metaclass=_TypeOfMeta):
    """`type` in contained code."""


def find_shown_type(value: Any) -> Any:
    """Return the class of a value as the program knows it."""
    kind = type(value)
    if isinstance(kind, ProxyType):
        return kind._njrt_known or kind
    return type if kind is ProxyType else kind


def describe_error(error: BaseException) -> str:
    """Return the class and the message of an exception of a class that the code made."""
    name = type(error).__qualname__.rpartition("<locals>.")[2]
    try:
        message = str(error)
    except BaseException as problem:
        return f"{name}: <its message cannot be shown: {type(problem).__name__}>"
    return f"{name}: {message}" if message else name


def select_catchable(kinds: Any = BaseException) -> Any:
    """Return the operand of an `except` clause, or an empty tuple if the program has interrupted the code."""
    return () if isinstance(sys.exception(), Interrupted) else kinds


def _run_coroutine(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that waits only for the program, which answers immediately."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise RuntimeError("contained code can wait only for awaitables of the program")
