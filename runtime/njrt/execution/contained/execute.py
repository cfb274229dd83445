"""Run a snippet in a child: the program answers the child's touches until the code ends.

    execute_contained(snippet, seconds=30)        Ran(value=None, printed="")
                                                  or Jumped(Raised(OutOfStock("tea")), printed="")
                                                  or Failed("TypeError: ...", printed="")

The conversation is a generator that yields to wait for a message from the child or for an awaitable of the program.
It is driven by the event loop in an `async` block, and by this thread elsewhere.
"""

from __future__ import annotations

import asyncio
import linecache
import marshal
import sys
import threading
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache, partial
from types import CodeType
from typing import Any

from njrt.execution.checks import MODULE_NAMES
from njrt.execution.compile import Snippet
from njrt.execution.contained.door import Door, Handed, Refused
from njrt.execution.contained.process import ChildProcess, start_child
from njrt.execution.contained.wire import Data, WireError, encode_decimal_context
from njrt.execution.guard.check import list_program_modules
from njrt.execution.interruptions import is_cancellation, is_interruption
from njrt.execution.lowering import ExitKind
from njrt.execution.results import Execution, Failed, Jumped, make_execution, make_failure
from njrt.execution.tracebacks import cut_middle, format_error, format_program_frames, leaves_block
from njrt.outcome import Raised
from njrt.scope.scope import read_cell
from njrt.timeouts import await_with_timeout, call_with_timeout

_UNBOUND = ["unbound"]
_MISSING = object()
_CPU_SECONDS = 3600.0
_GRACE_SECONDS = 0.5
_OF_THE_BLOCK = ("print", "note", "variables")
_TABLE_AND_CALL = 2
"""The reference count of a function of the code that only the door holds."""
_MAX_LINE_CHARACTERS = 160
_ENDED = (
    "the process of the code ended: it used too much memory or processor time, or it crashed; "
    "write it in a simpler way"
)
_KEPT = (
    "the program keeps a function of the code, which ends with it; contained code cannot hand over functions that are "
    "called later"
)

Wait = None
"""Yielded by the conversation to wait for a message from the child."""
Conversation = Generator[Awaitable[Any] | None, Any, Execution]


def execute_contained(snippet: Snippet, seconds: float | None) -> Execution:
    """Run a snippet in a separate process, for at most `seconds`.

    Raises DeadlineExceeded, or PolicyError if this system cannot contain code.
    """
    with start_child(seconds or _CPU_SECONDS) as child, closing(Piece(snippet, child)) as piece:
        return call_with_timeout(seconds, partial(_drive, piece))


async def aexecute_contained(snippet: Snippet, seconds: float | None) -> Execution:
    """Run a snippet of an async block; see `execute_contained`."""
    with start_child(seconds or _CPU_SECONDS) as child, closing(Piece(snippet, child)) as piece:
        return await await_with_timeout(seconds, _adrive(piece))


def _drive(piece: Piece) -> Execution:
    conversation = piece.converse()
    step: Callable[[], Any] = partial(next, conversation)
    while True:
        try:
            awaited = step()
        except StopIteration as end:
            return piece.refuse_kept_functions(end.value)
        if awaited is not Wait:
            step = partial(conversation.throw, TypeError("`await` needs an async block"))
        else:
            step = partial(conversation.send, piece.receive())


async def _adrive(piece: Piece) -> Execution:
    conversation = piece.converse()
    step: Callable[[], Any] = partial(next, conversation)
    while True:
        try:
            awaited = step()
        except StopIteration as end:
            return piece.refuse_kept_functions(end.value)
        if awaited is Wait:
            await _wait_for_child(piece)
            step = partial(conversation.send, piece.receive())
            continue
        try:
            step = partial(conversation.send, await awaited)
        except BaseException as error:
            step = partial(conversation.throw, error)


async def _wait_for_child(piece: Piece) -> None:
    """Wait for a message; a cancellation interrupts the code, which then has a moment to run its `finally`."""
    descriptor = piece.child.connection.channel.fileno()
    try:
        await _wait_until_readable(descriptor)
    except asyncio.CancelledError as error:
        if _is_own_cancellation(error):  # its task group or timeout has ended
            return await _wait_for_child(piece)
        piece.pending = error
        try:
            await asyncio.wait_for(_wait_until_readable(descriptor), _GRACE_SECONDS)
        except TimeoutError:
            raise error from None


async def _wait_until_readable(descriptor: int) -> None:
    loop, readable = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(descriptor)


class Piece:
    """A piece of code and its child (state: the door, the names' values in the child, an exception to pass on)."""

    def __init__(self, snippet: Snippet, child: ChildProcess) -> None:
        self.snippet, self.scope, self.child = snippet, snippet.scope, child
        self.thread = threading.get_ident()
        self.is_closed = False
        modules = frozenset(list_program_modules(self.scope))
        self.door = Door(modules, self.call_function)
        self.pending: BaseException | None = None
        self.caught: list[BaseException] = []
        self.handled = sys.exception()
        self.places = self._find_places()
        self.readers = [(name, self._make_reader(name)) for name in self.places]
        self.known: dict[str, Any] = dict.fromkeys(self.places, _MISSING)

    # ── the conversation ─────────────────────────────────────────────────────────────────────────

    def converse(self) -> Conversation:
        """Start the code and answer its touches until it ends."""
        try:
            self._send_start()
            while True:
                message = yield Wait
                match self._accept(message):
                    case "touch", [str(operation), list(data)]:
                        self.scope.touches += 1
                        yield from self._answer(operation, data)
                    case "end", [int(kind), data] if self._may_end(kind, data):
                        value = self._decode(data)
                        return make_execution(kind, value, self._take_printed())
                    case "failed", [
                        data,
                        list(frames),
                        bool(is_own),
                        bool(reraises),
                        None | str() as name,
                        None | str() as text,
                    ]:
                        error, lines = self._decode_error(data), _read_frames(frames)
                        if is_cancellation(error) and not reraises:
                            is_own = False  # only an event loop cancels the program
                        return self._fail(error, lines, is_own, reraises, name, text)
                    case "interrupted", [] if self.door.interruption is not None:
                        break
                    case "crashed", [str(text)]:
                        return Failed(f"{_ENDED}\n{cut_middle(text, 1000)}", self._take_printed())
                    case _:
                        raise WireError("unknown message")
        except Refused as refusal:
            if not self._is_interrupted():
                return Failed(format_error(refusal.error), self._take_printed())
        except (WireError, ConnectionError, AssertionError) as error:
            if not self._is_interrupted():
                why = "" if isinstance(error, WireError | ConnectionError) else f" ({error!r})"
                return Failed(_ENDED + why, self._take_printed())
        assert self.door.interruption is not None
        raise self.door.interruption

    def receive(self) -> Data:
        """Wait for a message from the child, until the code's time is up."""
        while True:
            try:
                return self.child.connection.receive()
            except BlockingIOError:  # the socket's timeout has passed
                continue
            except (WireError, ConnectionError):
                return None

    def _accept(self, message: Data) -> tuple[str, list[Data]]:
        """Apply the child's changes; return the message's kind and parts."""
        match message:
            case [str(kind), list(changes), list(names), list(released), *parts]:
                with _reading():
                    self.door.mirrors.apply_changes(changes)
                    bindings = [(str(name), self._read_binding(name, data)) for name, data in names]
                for name, value in bindings:
                    self._bind(name, value)
                with _reading():
                    self.door.release(released)
                return kind, parts
        raise WireError("the child has ended" if message is None else "unknown message")

    def _decode(self, data: Data) -> Any:
        with _reading():
            return self.door.decode(data)

    def _is_interrupted(self) -> bool:
        """Return whether an exception must leave the block; a timeout's cancellation may have ended with it."""
        error = self.door.interruption
        return error is not None and not _is_own_cancellation(error)

    def _decode_error(self, data: Data) -> BaseException:
        value = self._decode(data)
        if not isinstance(value, BaseException):
            raise WireError("not an exception")
        return value

    def _may_end(self, kind: int, data: Data) -> bool:
        """Return whether the block lets its code end like this: jumps must be among its labels."""
        match kind:
            case ExitKind.FELL_OFF | ExitKind.VALUE:
                return True
            case ExitKind.RETURN:
                is_bare = data is None and "bare_return" in self.snippet.labels
                return is_bare or "return" in self.snippet.labels
            case ExitKind.BREAK:
                return "break" in self.snippet.labels
            case ExitKind.CONTINUE:
                return "continue" in self.snippet.labels
        return False

    def _answer(
        self, operation: str, data: list[Data]
    ) -> Generator[Awaitable[Any] | None, Any, None]:
        is_leaving = operation == "op" and data[:1] == ["__aexit__"]
        if self.pending is not None and operation == "await":
            _cancel_again(self.pending)  # what is awaited sees it first, such as a task group
            self.pending = None
        if self.pending is not None and not is_leaving:
            self.door.interruption, self.pending = self.pending, None
            self._send("interrupt")
            return
        try:
            if operation == "await":
                result = yield self.door.find_awaitable(data)
            elif operation in _OF_THE_BLOCK:
                result = self._serve_block(operation, data)
            else:
                result = self.door.perform(operation, data)
            with self.door.undo_on_refusal():
                reply = ["result", self.door.encode(result)]
        except Refused as refusal:
            reply = ["error", self.door.encode(refusal.error)]
        except WireError:
            raise
        except BaseException as error:
            reply = self._encode_error(error)
        self._send(*reply)

    def _serve_block(self, operation: str, data: list[Data]) -> Any:
        """Serve an operation on the block itself, not on an object."""
        scope = self.scope
        match operation, data:
            case "print", [str(text), str(end)]:
                return scope.transcript.print(text, end=end)
            case "note", [str(name)]:
                return scope.note_binding(name)
            case "variables", []:
                variables = scope.list_variables()
                return tuple(variables), tuple(variables.values())
        raise WireError(f"unknown operation {operation!r}")

    def _encode_error(self, error: BaseException) -> list[Data]:
        """Return the reply for an exception: an error in the code or, if it must leave the block, an interruption."""
        if not leaves_block(error):
            if self.door.handed:
                self.caught.append(error)
            return ["error", self.door.encode(error)]
        self.door.interruption = error
        return ["interrupt"]

    def _send(self, kind: str, *parts: Data) -> None:
        self.child.connection.send(
            [kind, self.door.mirrors.encode_changes(), self._encode_names(), *parts]
        )

    # ── functions of the code that the program calls ─────────────────────────────────────────────

    def call_function(self, number: int, args: Sequence[Any], named: dict[str, Any]) -> Any:
        """Call a function of the code from the program, and answer its touches."""
        if self.is_closed:
            raise RuntimeError("a function of contained code was called after the code had ended")
        if threading.get_ident() != self.thread:
            raise RuntimeError("a function of contained code was called from another thread")
        encode = self.door.encode
        with self.door.undo_on_refusal():
            values = [*map(encode, args)], {key: encode(value) for key, value in named.items()}
        self._send("call", number, *values)
        while True:
            match self._accept(self.receive()):
                case "touch", [str(operation), list(data)]:
                    self.scope.touches += 1
                    for _ in self._answer(operation, data):
                        raise RuntimeError("a function that the program calls cannot await")
                case "returned", [data]:
                    return self._decode(data)
                case "raised", [data]:
                    self.caught.append(self._decode_error(data))
                    raise self.caught[-1]  # a variable would keep this frame alive
                case "interrupted", [] if self.door.interruption is not None:
                    raise self.door.interruption
                case _:
                    raise WireError("unknown message")

    # ── names ────────────────────────────────────────────────────────────────────────────────────

    def _find_places(self) -> dict[str, str]:
        """Return the place of each name that the code uses, such as an output, a variable, or the block's own."""
        scope, code = self.scope, self.snippet.code
        places: dict[str, str] = {}
        for name in code.co_freevars:
            if name in scope.scratch:
                places[name] = "own"
            elif name in scope.cells:
                places[name] = "output" if name in scope.bindable else "variable"
            elif name in scope.borrowed and scope.is_lent(name):
                places[name] = "variable"
        for name in _list_global_names(code):
            if name in scope.global_names and name not in places:
                places[name] = "bound global" if name in scope.bindable else "global"
            elif (
                scope.is_lent(name) or name in MODULE_NAMES & scope.module.keys()
            ) and name not in places:
                places[name] = "global"
        return places

    def _encode_names(self) -> list[Data]:
        """Return `[name, data]` for the names bound to an object other than the child knows."""
        changes: list[Data] = []
        for name, read in self.readers:
            value = read()
            if value is not self.known[name]:
                self.known[name] = value
                try:
                    data = _UNBOUND if value is _MISSING else self.door.encode(value)
                except Refused as refusal:
                    raise type(refusal.error)(f"`{name}`: {refusal}") from None
                changes.append([name, data])
        return changes

    def _make_reader(self, name: str) -> Callable[[], Any]:
        """Return a function that reads a name from its place, or returns `_MISSING` if the name is unbound."""
        if (cell := self.scope.find_cell(name)) is not None:
            return partial(read_cell, cell, _MISSING)
        if self.scope.is_lent(name):
            return partial(self.scope.lent.get, name)
        return partial(self.scope.module.get, name, _MISSING)

    def _read_binding(self, name: str, data: Data) -> Any:
        """Return the value that the code has bound to a name, or `_MISSING`."""
        place = self.places.get(name)
        if place not in ("output", "own", "bound global"):
            raise WireError("this name cannot be bound")
        value = _MISSING if data == _UNBOUND else self.door.decode(data)
        if isinstance(value, Handed):
            raise WireError("a function cannot be kept")
        return value

    def _bind(self, name: str, value: Any) -> None:
        if value is _MISSING:
            self.scope.unbind(name)
        else:
            self.scope.rebind(name, value)
        self.known[name] = value

    def _send_start(self) -> None:
        code = self.snippet.code
        changes = dict(self._encode_names())
        names = [[name, place, changes.get(name, _UNBOUND)] for name, place in self.places.items()]
        borrowed = [
            name
            for name in code.co_freevars
            if name in self.scope.borrowed and name not in self.places
        ]
        handled = sys.exception()
        error = None if handled is None else self.door.encode(handled)
        start = ["start", _dump_code(code), names, sorted(self.door.modules), error, borrowed]
        self.child.connection.send([*start, encode_decimal_context()])

    # ── the end ──────────────────────────────────────────────────────────────────────────────────

    def refuse_kept_functions(self, execution: Execution) -> Execution:
        """Make it a mistake if the program still holds a function of the code, which ends with the code."""
        if isinstance(execution, Failed) or not self._has_kept_functions():
            return execution
        raised = execution.outcome if isinstance(execution, Jumped) else None
        error = raised.exception if isinstance(raised, Raised) else None
        for caught in self.caught:
            self._forget_traceback(caught, error)
        return Failed(_KEPT, execution.printed) if self._has_kept_functions() else execution

    def _has_kept_functions(self) -> bool:
        handed = self.door.handed
        return any(sys.getrefcount(handed[number]) > _TABLE_AND_CALL for number in handed)

    def _forget_traceback(self, error: BaseException | None, raised: BaseException | None) -> None:
        """Drop the frames of a caught exception and its causes, because they hold functions of the code."""
        while error is not None and error is not raised and error is not self.handled:
            if error.__traceback__ is None:  # a cycle, or never raised
                return
            error.__traceback__ = None
            error = error.__cause__ or error.__context__

    def close(self) -> None:
        self.is_closed = True
        self.door.close()
        for table in (self.known, self.caught, self.readers):
            table.clear()
        del self.pending, self.handled

    def _fail(
        self,
        error: BaseException,
        frames: Sequence[tuple[str | None, int]],
        is_own: bool,
        reraises: bool,
        name: str | None,
        text: str | None,
    ) -> Execution:
        printed = self._take_printed()
        if is_own or self.snippet.raises_mistakes:
            if is_own and reraises:
                return Jumped(Raised(error, True), printed)
            line = next((line for code, line in frames if code is None), 1)
            return Jumped(Raised(_place_error(error, self.snippet.code, line)), printed)
        lines = format_program_frames(error, None, self._format_frames(frames))
        text = "\n".join([cut_middle(text or format_error(error), 2000), *lines])
        return make_failure(self.snippet, error, text, name, printed)

    def _format_frames(self, frames: Sequence[tuple[str | None, int]]) -> Iterator[str]:
        filename = self.snippet.code.co_filename
        for code, line in frames:
            source = cut_middle(linecache.getline(filename, line).strip(), _MAX_LINE_CHARACTERS)
            yield f"  in {code or 'your code'}, line {line}" + (f": {source}" if source else "")

    def _take_printed(self) -> str:
        return self.scope.transcript.take()


def _cancel_again(error: BaseException) -> None:
    """Make this task's next wait raise the cancellation that the task has already received."""
    task = asyncio.current_task()
    assert task is not None
    task.uncancel()
    task.cancel(*error.args[:1])


def _is_own_cancellation(error: BaseException) -> bool:
    """Return whether this is the cancellation of a task that the code awaits, not of the program's."""
    return is_cancellation(error) and not is_interruption(error)


@contextmanager
def _reading() -> Iterator[None]:
    """Turn any error in the `with` except a refusal into WireError: the child's messages must cause no other."""
    try:
        yield
    except (WireError, Refused):
        raise
    except Exception as error:
        raise WireError(f"a message cannot be read: {type(error).__name__}") from None


def _read_frames(frames: Sequence[Data]) -> list[tuple[str | None, int]]:
    with _reading():
        return [(it and cut_middle(str(it), 160), min(int(line), 2**20)) for it, line in frames]


@lru_cache(maxsize=64)
def _dump_code(code: CodeType) -> str:
    """Return the bytes of a code object, one character each."""
    return marshal.dumps(_use_plain_filename(code)).decode("latin-1")


def _use_plain_filename(code: CodeType) -> CodeType:
    """Return the code with a file name that is exactly a str."""
    constants = tuple(
        _use_plain_filename(constant) if isinstance(constant, CodeType) else constant
        for constant in code.co_consts
    )
    return code.replace(co_filename=code.co_filename[:], co_consts=constants)


def _list_global_names(code: CodeType) -> set[str]:
    """Return the names that a code object and those nested in it use as globals or attributes."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _list_global_names(constant)
    return names


def _place_error(error: BaseException, code: CodeType, line: int) -> BaseException:
    """Return the exception with a traceback that starts at its line in the code.

    It is raised in another thread: a traceback's frame keeps its callers' frames alive, and so the program's objects.
    """
    raising = compile("\n" * (line - 1) + "raise errors.pop()", code.co_filename, "exec")
    raising = raising.replace(co_name=code.co_name, co_qualname=code.co_qualname)
    context, errors = error.__context__, [error]
    thread = threading.Thread(target=_raise, args=(raising, errors))
    thread.start()
    thread.join()
    error.__context__ = context
    return errors.pop()


def _raise(raising: CodeType, errors: list[BaseException]) -> None:
    """Execute code that raises the exception in the list; put it back with its traceback."""
    try:
        exec(raising, {"errors": errors})
    except BaseException as error:
        trace = error.__traceback__
        below = trace.tb_next if trace is not None else None
        errors.append(BaseException.with_traceback(error, below))  # the code may have set its own
