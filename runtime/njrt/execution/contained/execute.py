"""Run a snippet in a child: state goes in, calls are made, changes come out.

    execute_contained(snippet, seconds=30)        Ran(value=None, printed="")
                                                  or Jumped(Raised(OutOfStock("tea")), printed="")
                                                  or Failed("TypeError: ...", printed="")

The conversation with the child is one coroutine. In an `async` block it waits on the event loop;
elsewhere it waits in this thread, and so never suspends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from njrt.data.coroutines import run_without_waiting
from njrt.data.timeouts import await_with_timeout, call_with_timeout
from njrt.errors import PolicyError
from njrt.execution.compile import Snippet
from njrt.execution.contained.apply import ConflictError
from njrt.execution.contained.contents import StateError
from njrt.execution.contained.failures import describe_call, fail, read_frames
from njrt.execution.contained.names import Names, dump_code
from njrt.execution.contained.process import ChildProcess, start_child
from njrt.execution.contained.session import Encode, RejectedError, Session
from njrt.execution.contained.wire import Data, TooLargeError, WireError, encode_decimal_context
from njrt.execution.interruptions import is_cancellation
from njrt.execution.lowering import ExitKind
from njrt.execution.results import Execution, Failed, make_execution
from njrt.execution.tracebacks import cut_middle, format_error, leaves_block
from njrt.values.introspection import get_class_name

_CPU_SECONDS = 3600.0
_MOST_LISTED = 20
"""How many calls of a failed piece are shown to the model."""
_ENDED = (
    "the process of the code ended: it used too much memory or processor time, or it crashed; "
    "write it in a simpler way"
)


def execute_contained(snippet: Snippet, seconds: float | None) -> Execution:
    """Run a snippet in a separate process, for at most `seconds`.

    Raises DeadlineExceeded, or PolicyError if this system cannot contain code.
    """
    with start_child(seconds or _CPU_SECONDS) as child:
        piece = Piece(snippet, child, is_async=False)
        return call_with_timeout(seconds, lambda: run_without_waiting(piece.converse()))


async def aexecute_contained(snippet: Snippet, seconds: float | None) -> Execution:
    """Run a snippet of an async block; see `execute_contained`."""
    with start_child(seconds or _CPU_SECONDS) as child:
        piece = Piece(snippet, child, is_async=True)
        return await await_with_timeout(seconds, piece.converse())


class Shown:
    """The last value of a piece of code that cannot cross, as its text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


class Piece:
    """A piece of code and its child (state: the session, the calls so far)."""

    def __init__(self, snippet: Snippet, child: ChildProcess, is_async: bool) -> None:
        self.snippet, self.scope, self.child = snippet, snippet.scope, child
        self.names = Names(snippet)
        self.session = Session(self.names)
        self.is_async = is_async
        self.calls: list[str] = []

    # ── the conversation ─────────────────────────────────────────────────────────────────────────

    async def converse(self) -> Execution:
        """Start the code, and answer its messages until it ends; undo its changes if it fails.

        An exception that must leave the block ends the code where it is: its handlers do not run.
        """
        is_kept = False
        try:
            self._start()
            while True:
                match await self._await_message() if self.is_async else self.receive():
                    case ["end", delta, int(kind), data] if self._may_end(kind, data):
                        execution = self._end(delta, kind, data)
                        is_kept = True
                        return execution
                    case ["failed", delta, data, list(frames), bool(is_own), *rest]:
                        is_kept = is_own or self.snippet.raises_mistakes
                        return self._fail(delta, data, read_frames(frames), is_own, rest)
                    case ["call", delta, target, list(args), dict(named)]:
                        await self._answer(delta, target, args, named)
                    case message:
                        self._serve(message)
        except _ENDINGS as error:
            is_kept = False
            if leaves_block(error):
                raise
            return self._refuse(_explain(error))
        finally:
            if not is_kept:
                self.session.undo()

    async def _await_message(self) -> Data:
        """Wait for a message on the event loop."""
        loop, readable = asyncio.get_running_loop(), asyncio.Event()
        channel = self.child.connection.channel.fileno()
        loop.add_reader(channel, readable.set)
        try:
            await readable.wait()
        finally:
            loop.remove_reader(channel)
        return self.receive()

    def receive(self) -> Data:
        """Wait for a message from the child, until the code's time is up."""
        while True:
            try:
                return self.child.connection.receive()
            except BlockingIOError:  # the socket's timeout has passed
                continue
            except (WireError, ConnectionError):
                return None

    def _start(self) -> None:
        code = self.snippet.code
        names, delta, handled = self.session.start()
        start = {
            "code": dump_code(code),
            "places": self.names.places,
            "members": names,
            "modules": sorted(self.names.modules),
            "borrowed": self.names.list_borrowed(),
            "handled": handled,
            "decimal": encode_decimal_context(),
        }
        try:
            self.child.connection.send(["start", start, self.session.program.take_new(), delta])
        except TooLargeError as error:
            raise PolicyError(
                f'policy="contained": {self.session.describe_largest()}: {error}; '
                "name a part of it in the text"
            ) from None

    def _serve(self, message: Data) -> None:
        """Answer a message that needs no waiting."""
        match message:
            case None:
                raise WireError("the child has ended")
            case ["print", None, str(text), str(end)]:
                self.scope.transcript.print(text, end=end)
                self._reply()
            case ["note", None, str(name)]:
                self.scope.note_binding(name)
                self._reply()
            case ["refused", str(text)]:
                raise StateError(cut_middle(text, 1000))
            case ["crashed", str(text)]:
                raise AssertionError(cut_middle(text, 1000))
            case _:
                raise WireError("unknown message")

    def _reply(self) -> None:
        """Send an answer without a value, and without what the program has changed."""
        self.child.connection.send(["result", [], None, None])

    def _send(
        self, answer: str, write: Callable[[Encode], Data], is_writable: bool = False
    ) -> None:
        """Send an answer with what the program has changed."""
        delta, data = self.session.take(write, is_writable)
        self.child.connection.send([answer, self.session.program.take_new(), delta, data])
        self.session.program.table.remember()

    def _refuse(self, text: str) -> Failed:
        return Failed(text + self._list_calls(), self.scope.transcript.take())

    def _list_calls(self) -> str:
        """Return what a failed piece has done all the same, for the message to the model."""
        if not self.calls:
            return ""
        shown = ", ".join(self.calls[:_MOST_LISTED])
        shown += ", ..." if len(self.calls) > _MOST_LISTED else ""
        return f"\n  what the code itself changed is undone; already done: {shown}"

    # ── calls ────────────────────────────────────────────────────────────────────────────────────

    async def _answer(self, delta: Data, target: Data, args: Data, named: Data) -> None:
        """Apply what the code has changed, and make a call; await it in an async block."""
        self.scope.touches += 1
        self.session.commit(delta)
        try:
            function, is_writable = self.session.program.find_call(target)
            decode = self.session.program.table.decode
            values = [*map(decode, args)]
            options = {key: decode(value) for key, value in named.items()}
        except StateError as error:
            self._send_error(TypeError(str(error)))
            return
        is_listed = target[0] != "get" and str(target[-1])[:1] != "_"
        is_listed = is_listed and len(self.calls) <= _MOST_LISTED
        shown = [describe_call(function, target, values, options)] if is_listed else []
        try:
            result = function(*values, **options)
            if self.is_async and hasattr(type(result), "__await__"):
                result = await result
        except BaseException as error:
            self.calls += [f"{it} raised {get_class_name(type(error))}" for it in shown]
            self._send_error(error)
            return
        self.calls += shown
        try:
            self._send("result", lambda encode: encode(result), is_writable)
        except StateError as error:
            self._send_error(TypeError(str(error)))

    def _send_error(self, error: BaseException) -> None:
        """Answer with an exception; raise it if it must leave the block."""
        if leaves_block(error):
            raise error
        try:
            self._send("error", lambda encode: encode(error))
        except StateError as problem:
            text = f"{format_error(error)} ({problem})"
            self._send("error", lambda encode: encode(TypeError(text)))

    # ── the end ──────────────────────────────────────────────────────────────────────────────────

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

    def _end(self, delta: Data, kind: int, data: Data) -> Execution:
        self.session.commit(delta)
        match data:
            case ["shown", str(text)]:
                value: Any = Shown(text)
            case _:
                value = self.session.program.table.decode(data)
        return make_execution(kind, value, self.scope.transcript.take())

    def _fail(
        self, delta: Data, data: Data, frames: list[Any], is_own: bool, rest: list[Data]
    ) -> Execution:
        match rest:
            case [bool(reraises), None | str() as name, str(text)]:
                pass
            case _:
                raise WireError("unknown message")
        if is_own or self.snippet.raises_mistakes:
            self.session.commit(delta)
            error = self.session.program.table.decode(data)
        else:
            error = self.session.decode_mistake(delta, data)
        if not isinstance(error, BaseException):
            raise WireError("not an exception")
        reraises = reraises and error is self.session.handled
        if is_cancellation(error) and not reraises:
            is_own = False  # only an event loop cancels the program
        how = is_own, reraises, name, cut_middle(text, 2000)
        execution = fail(self.snippet, error, frames, how)
        if isinstance(execution, Failed):
            return Failed(execution.message + self._list_calls(), execution.printed)
        return execution


_ENDINGS = (
    *(StateError, RejectedError, ConflictError),
    *(WireError, ConnectionError, TooLargeError, AssertionError),
)


def _explain(error: BaseException) -> str:
    """Return why a piece of code has ended, for the message to the model."""
    match error:
        case StateError():
            return format_error(TypeError(str(error)))
        case RejectedError():
            return f"PermissionError: the changes were rejected: {error}"
        case ConflictError():
            return f"RuntimeError: {error}"
        case WireError() | ConnectionError():
            return _ENDED
    return f"{_ENDED} ({error})"
