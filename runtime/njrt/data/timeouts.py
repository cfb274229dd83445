"""Stop Python code that takes too long, in any thread.

    call_with_timeout(2.0, endless)        raises DeadlineExceeded, at most a fifth of a second late
    call_with_timeout(2.0, quick)          returns what quick() returns

A timer thread watches all such calls. When a call's time is up, it raises an exception in the
call's thread (`PyThreadState_SetAsyncExc`), and again at each tick as long as the call runs. A call
withdraws its exception, under the timer's lock, before it returns, so none reaches the code after
it. Functions of the program that a call runs are interrupted like any other code. While
somebody decides or debugs, the limits around that point are `paused`.

Not stopped: a call that waits or computes in C (`time.sleep(3)`, a lock, `10 ** 10 ** 8`), before
it ends; code that catches the exception and goes on. What must be stopped runs in a process of its
own: contained code is killed.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import types
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from njrt.data.context import ContextMark, free_in_child

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

_TICK_SECONDS: Final = 0.1
"""Seconds between the timer's checks, and between two exceptions in one call."""

_GRACE_SECONDS: Final = 0.5
"""Seconds that cancelled code has to clean up after itself."""

_CLOCK_ERROR: Final = 0.001
"""Seconds that an event loop may be early."""


@dataclass(eq=False, slots=True)
class Stopwatch:
    """Measures what a limit counts: the seconds since its start, but for those in `paused`."""

    began: float = field(default_factory=time.monotonic)
    clock: Callable[[], float] = time.monotonic
    pauses: int = 0
    paused_at: float = 0.0

    def read(self) -> float:
        """Return the seconds so far."""
        return (self.paused_at if self.pauses else self.clock()) - self.began

    def pause(self, change: int) -> None:
        """Add a pause, or with -1 end one: the watch goes on once all have ended."""
        with _watch_lock:
            if not self.pauses:
                self.paused_at = self.clock()
            elif self.pauses + change == 0:
                # In this order, a thread reading it may get an earlier time, never a later.
                self.began += self.clock() - self.paused_at
            self.pauses += change


_watch_lock = free_in_child(threading.Lock())

_here: ContextVar[tuple[Stopwatch, ...]] = ContextVar("njrt.data.timeouts", default=())
"""The watches of the limits of time around this point."""
_everywhere: dict[Stopwatch, None] = {}
"""Those of all limits in this process."""


def open_watch(watch: Stopwatch) -> Token[tuple[Stopwatch, ...]]:
    """Let `paused` pause a watch, in this context and those made from it, until `close_watch`."""
    _everywhere[watch] = None
    return _here.set((*_here.get(), watch))


def close_watch(watch: Stopwatch, token: Token[tuple[Stopwatch, ...]]) -> None:
    """Take a watch back."""
    _everywhere.pop(watch, None)
    try:
        _here.reset(token)
    except ValueError:  # in another context, as of an abandoned coroutine
        return


@contextmanager
def watched(watch: Stopwatch) -> Iterator[None]:
    """Let `paused` pause a watch inside."""
    token = open_watch(watch)
    try:
        yield
    finally:
        close_watch(watch, token)


@contextmanager
def paused(everywhere: bool = False) -> Iterator[None]:
    """Exclude the time inside from the limits around it; those of other code continue.

    If the code inside makes all others wait, such as an event loop's, it pauses them `everywhere`.
    """
    around = tuple(_everywhere) if everywhere else _here.get()
    for watch in around:
        watch.pause(1)
    try:
        yield
    finally:
        for watch in around:
            watch.pause(-1)


class DeadlineExceeded(TimeoutError):
    """The code took longer than its limit and was stopped."""


class Interruption(BaseException):
    """Raised in a call whose time is up; leaves `call_with_timeout` as `DeadlineExceeded`."""


@dataclass(eq=False, slots=True, kw_only=True)
class _Call(Stopwatch):
    """A call with a time limit, and what is restored in its context when it ends."""

    thread: int
    seconds: float
    token: Token[tuple[Stopwatch, ...]] | None = None
    is_interrupted: bool = False
    is_ending: bool = False


def call_with_timeout(seconds: float | None, action: Callable[[], T]) -> T:
    """Call `action`, in Python, for at most `seconds` of wall time, else raise `DeadlineExceeded`.

    Calls may be nested and may run in many threads at once.
    """
    if seconds is None or sys.platform == "emscripten":  # browsers: there are no threads
        return action()
    call, mark = _Call(thread=threading.get_ident(), seconds=seconds), ContextMark()
    try:
        try:
            _timer.add(call)
            result = action()
        finally:
            call.is_ending = True
            _timer.remove(call)
    except BaseException as error:
        # An exception pending at the action's end may be raised in `finally` above, so this is a
        # second attempt. No third is needed: the timer sends at most one to a call that is ending.
        call.is_ending = True
        _timer.remove(call)
        if not call.is_interrupted or not isinstance(error, Exception | Interruption):
            raise
        mark.restore(is_interrupted=True)
        raise DeadlineExceeded(_format_timeout(seconds)) from None
    if call.is_interrupted:
        mark.restore(is_interrupted=True)
        raise DeadlineExceeded(_format_timeout(seconds))
    return result


class Allowance:
    """Seconds that several calls share; `left` is the unused part."""

    def __init__(self, seconds: float) -> None:
        self.left = seconds

    def call(self, most: float, action: Callable[[], T]) -> T:
        """Call `action` as `call_with_timeout` does, for at most `most` of the seconds left."""
        began = time.monotonic()
        try:
            return call_with_timeout(min(most, self.left), action)
        finally:
            self.left -= time.monotonic() - began


async def await_with_timeout(seconds: float | None, coroutine: Coroutine[Any, Any, T]) -> T:
    """Await `coroutine` for at most `seconds` of wall time, else raise `DeadlineExceeded`.

    While it runs, it is interrupted as by `call_with_timeout`; while it waits, its asyncio task is
    cancelled, as by `asyncio.timeout`, so that other tasks in the thread are not affected; both
    again while it goes on. Under an event loop other than asyncio's, waiting is not limited.
    """
    if seconds is None:
        return await coroutine
    import asyncio

    alarm = _Alarm(seconds=seconds)
    if asyncio._get_running_loop() is None or (task := asyncio.current_task()) is None:
        return await _drive_steps(coroutine, alarm)
    cancelled, loop = task.cancelling(), asyncio.get_running_loop()

    def ring() -> None:
        if not alarm.rung and (left := alarm.left()) > _CLOCK_ERROR:
            alarm.next = loop.call_later(max(left, _TICK_SECONDS), ring)
            return
        alarm.rung += 1
        task.cancel()
        alarm.next = loop.call_later(_GRACE_SECONDS, ring)

    alarm.next = loop.call_later(seconds, ring)
    try:
        with watched(alarm):
            return await _drive_steps(coroutine, alarm)
    except (asyncio.CancelledError, DeadlineExceeded) as error:
        is_ours = alarm.rung > 0 and task.cancelling() - alarm.rung <= cancelled
        if isinstance(error, DeadlineExceeded) or is_ours:
            raise DeadlineExceeded(_format_timeout(seconds)) from None
        raise
    finally:
        alarm.next.cancel()
        for _ in range(alarm.rung):
            task.uncancel()


@dataclass(eq=False, slots=True, kw_only=True)
class _Alarm(Stopwatch):
    """A coroutine's limit, and how often it has been cancelled since."""

    seconds: float
    rung: int = 0
    next: asyncio.TimerHandle | None = None

    def left(self) -> float:
        """Return the seconds until the coroutine is cancelled."""
        return self.seconds - self.read()


@types.coroutine
def _drive_steps(coroutine: Coroutine[Any, Any, T], alarm: _Alarm) -> Generator[Any, Any, T]:
    """Drive a coroutine, each step in a call with a time limit; waiting is not limited."""
    # An exception is removed before it is thrown: else it would keep the frames it passes alive,
    # and they would keep it alive.
    thrown: list[BaseException] = []
    step: Callable[[], Any] = partial(coroutine.send, None)
    while True:
        try:
            awaited = call_with_timeout(max(alarm.left(), _GRACE_SECONDS), step)
        except StopIteration as stop:
            result: T = stop.value
            return result
        except DeadlineExceeded:
            with suppress(RuntimeError, DeadlineExceeded):  # RuntimeError: it ignored GeneratorExit
                call_with_timeout(_GRACE_SECONDS, coroutine.close)
            raise
        try:
            step = partial(coroutine.send, (yield awaited))
        except GeneratorExit:
            coroutine.close()
            raise
        except BaseException as error:
            thrown.append(error)
            step = lambda: coroutine.throw(thrown.pop())  # noqa: E731


def _format_timeout(seconds: float) -> str:
    return f"the code ran for more than {seconds:g} seconds"


class _Timer:
    """The thread that watches the open calls (state: the calls, whether the thread runs).

    A call starts the thread, which ends at the first tick without a call. The lock is taken by
    `with`, which no exception of the timer can enter half.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.calls: dict[_Call, None] = {}
        self.runs = False

    def add(self, call: _Call) -> None:
        with self.lock:
            self.calls[call] = None
            if not self.runs:
                self.start()
        _everywhere[call] = None
        call.token = _here.set((*_here.get(), call))

    def remove(self, call: _Call) -> None:
        with self.lock:
            self.calls.pop(call, None)
            if call.is_interrupted:
                _withdraw_exception(call.thread)
        _everywhere.pop(call, None)
        if (token := call.token) is not None:
            call.token = None
            _here.reset(token)

    def start(self) -> None:
        threading.Thread(target=self.run, name="njrt-time-limit", daemon=True).start()
        self.runs = True  # not reached if the system has no thread left

    def run(self) -> None:
        while True:
            time.sleep(_TICK_SECONDS)
            with self.lock:
                if not self.calls:
                    self.runs = False
                    return
                for call in list(self.calls):
                    if call.read() >= call.seconds and not call.is_ending:
                        self.interrupt(call)

    def interrupt(self, call: _Call) -> None:
        frame = sys._current_frames().get(call.thread)
        if frame is None or frame.f_globals is globals():
            return  # a call begins or ends there; the next tick will interrupt it
        call.is_interrupted = True
        _set_async_exception(call.thread, Interruption)

    def restart_in_child(self) -> None:
        """Start again after a fork, which leaves only the forking thread."""
        self.lock = threading.RLock()
        here = threading.get_ident()
        self.calls = {call: None for call in self.calls if call.thread == here}
        self.runs = False
        if self.calls:
            self.start()


_timer = _Timer()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_timer.restart_in_child)


def _set_async_exception(thread: int, exception: type[BaseException]) -> None:
    """Raise `exception` in `thread` at its next bytecode, instead of a pending one."""
    import ctypes

    request = ctypes.pythonapi.PyThreadState_SetAsyncExc
    request(ctypes.c_ulong(thread), ctypes.py_object(exception))


class _WithdrawnError(BaseException):
    """Raised instead of an exception that is no longer needed."""


def _withdraw_exception(thread: int) -> None:
    """Remove this thread's pending exception, by replacing it with one that is caught here.

    Without one, CPython 3.11 would look for an exception forever, and would hang under a tracer.
    """
    others: list[BaseException] = []
    while True:
        try:
            _set_async_exception(thread, _WithdrawnError)
            while True:
                pass
        except _WithdrawnError:
            break
        except Interruption:  # this call's, or of a call around it, which gets another
            pass
        except BaseException as error:  # from a signal; the pending one must not be raised after it
            others.append(error)
    if others:
        raise others[0]
