"""Stop Python code that takes too long, in any thread.

    call_with_timeout(2.0, endless)        raises DeadlineExceeded, at most a fifth of a second late
    call_with_timeout(2.0, quick)          returns what quick() returns

A timer thread watches all such calls. When a call's time is up, it raises an exception in the
call's thread (`PyThreadState_SetAsyncExc`), and again at each tick as long as the call runs. A call
withdraws its exception, under the timer's lock, before it returns, so none reaches the code after
it. Functions of the program that a call runs are interrupted like any other code.

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
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from njrt.data.context import ContextMark

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

_TICK_SECONDS: Final = 0.1
"""Seconds between the timer's checks, and between two exceptions in one call."""

_GRACE_SECONDS: Final = 0.5
"""Seconds that cancelled code has to clean up after itself."""

_CLOCK_ERROR: Final = 0.001
"""Seconds that an event loop may be early."""


class StoppableClock:
    """A `time.monotonic` that a debugger stops with the program (state: when, how long, by whom).

    It continues once all threads that stopped it have started it again.
    """

    def __init__(self) -> None:
        self._stopped_at: float | None = None
        self._stopped_seconds = 0.0
        self._threads: set[int] = set()
        self._lock = threading.RLock()

    def read(self) -> float:
        """Return the seconds since a fixed point, without the time while the clock was stopped."""
        stopped_at = self._stopped_at
        return (time.monotonic() if stopped_at is None else stopped_at) - self._stopped_seconds

    def stop(self) -> None:
        """Stop the clock of all limits in this process."""
        with self._lock:
            self._threads.add(threading.get_ident())
            if self._stopped_at is None:
                self._stopped_at = time.monotonic()

    def start(self) -> None:
        """Let the clock continue, unless another thread has stopped it too."""
        with self._lock:
            self._threads.discard(threading.get_ident())
            if self._stopped_at is not None and not self._threads:
                # In this order, a thread reading the clock may get an earlier time, never a later.
                self._stopped_seconds += time.monotonic() - self._stopped_at
                self._stopped_at = None

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the clock inside the `with`."""
        try:
            self.stop()
            yield
        finally:
            self.start()

    def restart_in_child(self) -> None:
        """After a fork: forget the other threads, which are not in this process."""
        self._lock = threading.RLock()
        self._threads &= {threading.get_ident()}
        if not self._threads:
            self.start()


clock = StoppableClock()
"""The clock that measures all limits."""
read_clock = clock.read


class DeadlineExceeded(TimeoutError):
    """The code took longer than its limit and was stopped."""


class Interruption(BaseException):
    """Raised in a call whose time is up; leaves `call_with_timeout` as `DeadlineExceeded`."""


@dataclass(eq=False, slots=True)
class _Call:
    """A call with a time limit."""

    thread: int
    deadline: float
    is_interrupted: bool = False
    is_ending: bool = False


def call_with_timeout(seconds: float | None, action: Callable[[], T]) -> T:
    """Call `action`, in Python, for at most `seconds` of wall time, else raise `DeadlineExceeded`.

    Calls may be nested and may run in many threads at once.
    """
    if seconds is None or sys.platform == "emscripten":  # browsers: there are no threads
        return action()
    call, mark = _Call(threading.get_ident(), read_clock() + seconds), ContextMark()
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
        began = read_clock()
        try:
            return call_with_timeout(min(most, self.left), action)
        finally:
            self.left -= read_clock() - began


async def await_with_timeout(seconds: float | None, coroutine: Coroutine[Any, Any, T]) -> T:
    """Await `coroutine` for at most `seconds` of wall time, else raise `DeadlineExceeded`.

    While it runs, it is interrupted as by `call_with_timeout`; while it waits, its asyncio task is
    cancelled, as by `asyncio.timeout`, so that other tasks in the thread are not affected; both
    again while it goes on. Under an event loop other than asyncio's, waiting is not limited.
    """
    if seconds is None:
        return await coroutine
    import asyncio

    alarm = _Alarm(read_clock() + seconds)
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
    around = _alarms.set((*_alarms.get(), alarm))
    try:
        return await _drive_steps(coroutine, alarm)
    except (asyncio.CancelledError, DeadlineExceeded) as error:
        is_ours = alarm.rung > 0 and task.cancelling() - alarm.rung <= cancelled
        if isinstance(error, DeadlineExceeded) or is_ours:
            raise DeadlineExceeded(_format_timeout(seconds)) from None
        raise
    finally:
        _alarms.reset(around)
        alarm.next.cancel()
        for _ in range(alarm.rung):
            task.uncancel()


@dataclass(slots=True)
class _Alarm:
    """A coroutine's deadline, and how often it has been cancelled since."""

    deadline: float
    rung: int = 0
    next: asyncio.TimerHandle | None = None
    stops: int = 0
    stopped_at: float = 0.0

    def left(self) -> float:
        """Return the seconds until the deadline; they do not fall while the alarm is stopped."""
        return self.deadline - (self.stopped_at if self.stops else read_clock())


_alarms: ContextVar[tuple[_Alarm, ...]] = ContextVar("njrt.data.timeouts", default=())
"""The alarms of the coroutines around this point."""


@contextmanager
def stopped_alarms() -> Iterator[None]:
    """Exclude the time inside from the limits of enclosing coroutines; other limits continue."""
    alarms = _alarms.get()
    for alarm in alarms:
        alarm.stopped_at = alarm.stopped_at if alarm.stops else read_clock()
        alarm.stops += 1
    try:
        yield
    finally:
        for alarm in alarms:
            alarm.stops -= 1
            if not alarm.stops:
                alarm.deadline += read_clock() - alarm.stopped_at


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

    def remove(self, call: _Call) -> None:
        with self.lock:
            self.calls.pop(call, None)
            if call.is_interrupted:
                _withdraw_exception(call.thread)

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
                now = read_clock()
                for call in list(self.calls):
                    if now >= call.deadline and not call.is_ending:
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
        clock.restart_in_child()
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
