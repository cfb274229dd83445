"""Stop Python code that takes too long, in any thread.

    call_with_timeout(2.0, endless)         raises DeadlineExceeded, at most a fifth of a second late
    call_with_timeout(2.0, quick)           returns what quick() returns

One thread watches all such calls. When a call's time is up, code in the main thread is interrupted by a signal, which
also ends waiting C calls, and code in another thread by an asynchronous exception. If code swallows it, the next ones
follow immediately, outside every handler in its loop. No exception reaches code after the call: its region is closed
under the same lock that interrupts take. It is not a context manager, because `__exit__` may be interrupted too.

Not stopped: a C call that holds the interpreter's lock (`10 ** 10 ** 8`, a catastrophic regular expression); a waiting
C call outside the main thread, on systems without real-time signals, or if the program uses the same signal; a loop
that makes objects with an endless `__del__`; in CPython 3.12, a loop with a `try` that ends with a comprehension.
Functions of the program that a region calls are interrupted like any other code.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import os
import signal
import sys
import threading
import time
import types
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

_TICK_SECONDS: Final = 0.1
"""Seconds between the watchdog's checks, and between interruptions of one region."""

_GRACE_SECONDS: Final = 0.5
"""Seconds that cancelled code has to clean up after itself."""

_QUIET_TICKS: Final = 20
"""The number of checks without an open region after which the watchdog sleeps until the next region."""

_CLOCK_ERROR: Final = 0.001
"""Seconds that an event loop may be early."""

_MAX_SWALLOWED: Final = 1
"""How many interruptions code may swallow, with time to clean up, before the next follow immediately."""


class StoppableClock:
    """A `time.monotonic` that a debugger stops along with the program (state: since when, how long, by whom).

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
                # In this order, a thread that reads the clock meanwhile may get an earlier time, never a later one.
                self._stopped_seconds += time.monotonic() - self._stopped_at
                self._stopped_at = None

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
    """Raised inside a region when its time is up; leaves `call_with_timeout` as `DeadlineExceeded`."""


@dataclass(eq=False, slots=True)
class Region:
    """One call with a time limit."""

    deadline: float
    thread: int
    by_signal: bool = False
    interruptions: int = 0
    """How often the call has been interrupted."""
    is_closing: bool = False
    exception: type[Interruption] | None = None
    """The class that is raised in the call; set once it has been interrupted."""


def call_with_timeout(seconds: float | None, action: Callable[[], T]) -> T:
    """Call `action`, which is Python code, for at most `seconds` of wall time, else raise `DeadlineExceeded`.

    Calls may be nested and may run in many threads at once.
    """
    if seconds is None or sys.platform == "emscripten":  # browsers: there are no threads
        return action()
    region = Region(read_clock() + seconds, threading.get_ident())
    try:
        try:
            _watchdog.watch(region)
            result = action()
        finally:
            region.is_closing = True
            _watchdog.unwatch(region)
    except BaseException as error:
        # An interruption that was pending when the action ended may be raised in the `finally` above, so this is a
        # second attempt. No third is needed: no interruption is sent to a thread while it runs in this module.
        region.is_closing = True
        _watchdog.unwatch(region)
        if not region.interruptions or isinstance(error, KeyboardInterrupt):
            raise
        if isinstance(error, Interruption) and error.args != (region,):
            raise  # of a region around this one
        raise DeadlineExceeded(_format_timeout(seconds)) from None
    if region.interruptions:
        raise DeadlineExceeded(_format_timeout(seconds))
    return result


class Allowance:
    """Seconds that several calls share; `left` is the unused part."""

    def __init__(self, seconds: float) -> None:
        self.left = seconds

    def call(self, most: float, action: Callable[[], T]) -> T:
        """Call `action` as `call_with_timeout` does, for at most `most` of the remaining seconds."""
        began = read_clock()
        try:
            return call_with_timeout(min(most, self.left), action)
        finally:
            self.left -= read_clock() - began


async def await_with_timeout(seconds: float | None, coroutine: Coroutine[Any, Any, T]) -> T:
    """Await `coroutine` for at most `seconds` of wall time, else raise `DeadlineExceeded`.

    While it runs, it is interrupted as by `call_with_timeout`; while it waits, its asyncio task is cancelled, as by
    `asyncio.timeout`, so that other tasks in the thread are not affected. If it still does not end, it is
    abandoned. Under an event loop other than asyncio's, waiting is not limited.
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
        """Return the seconds until the deadline; they do not decrease while the alarm is stopped."""
        return self.deadline - (self.stopped_at if self.stops else read_clock())


_alarms: ContextVar[tuple[_Alarm, ...]] = ContextVar("njrt.timeouts", default=())
"""The alarms of the coroutines around this point."""


@contextmanager
def stopped_alarms() -> Iterator[None]:
    """Exclude the time inside from the limits of the enclosing coroutines; other limits continue."""
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
    """Drive a coroutine, each step in a new region; waiting is not limited."""
    # An exception is removed before it is thrown: otherwise it would keep the frames that it passes through alive,
    # and they would keep it alive.
    thrown: list[BaseException] = []
    step: Callable[[], Any] = partial(coroutine.send, None)
    while True:
        left = max(alarm.left(), _GRACE_SECONDS)
        try:
            awaited = call_with_timeout(left, step)
        except StopIteration as stop:
            result: T = stop.value
            return result
        except Interruption as stopped:
            if stopped.args:
                raise  # of a region around this coroutine
            raise DeadlineExceeded from None
        if alarm.rung > 1:  # it has swallowed its cancellation and an interruption
            with suppress(RuntimeError, DeadlineExceeded):  # RuntimeError: it ignored GeneratorExit
                call_with_timeout(_GRACE_SECONDS, coroutine.close)
            raise DeadlineExceeded
        try:
            step = partial(coroutine.send, (yield awaited))
        except GeneratorExit:
            coroutine.close()
            raise
        except BaseException as error:
            # The first time this is the cancellation, which code may catch; after that it is an interruption.
            thrown.append(Interruption() if alarm.rung > 1 else error)
            step = lambda: coroutine.throw(thrown.pop())  # noqa: E731


def _format_timeout(seconds: float) -> str:
    return f"the code ran for more than {seconds:g} seconds"


def make_service_thread(
    run: Callable[[], object], name: str, end: Callable[[], object]
) -> threading.Thread:
    """Return a thread for the rest of the program: a daemon, or in a subinterpreter a thread that `end` ends.

    A daemon that is left at the end of a subinterpreter aborts the process; some subinterpreters allow no daemons.
    """
    if not is_main_interpreter():
        getattr(threading, "_register_atexit")(end)  # noqa: B009
    return threading.Thread(target=run, name=name, daemon=is_main_interpreter())


@cache
def is_main_interpreter() -> bool:
    """Return whether this is the process's first interpreter, which exists in every Python."""
    for name in ("_interpreters", "_xxsubinterpreters"):
        with suppress(ImportError):
            interpreters = import_module(name)
            return bool(interpreters.get_current() == interpreters.get_main())
    return True


class _Watchdog:
    """The thread that watches the open regions; the first region starts it, and it sleeps while none is open."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.needed = threading.Event()
        self.regions: dict[int, Region] = {}
        self.runs = False
        self.sleeps = False
        self.has_ended = False

    def watch(self, region: Region) -> None:
        with self.lock:
            self.regions[id(region)] = region
            if not self.runs:
                self.start()
            elif self.sleeps:
                self.sleeps = False
                self.needed.set()
        if threading.main_thread().ident == region.thread:
            region.by_signal = _claim_signal()

    def unwatch(self, region: Region) -> None:
        with self.lock:
            self.regions.pop(id(region), None)
            if region.interruptions:
                _withdraw_exception(region.thread)

    def start(self) -> None:
        make_service_thread(self.run, "njrt-time-limit", self.end).start()
        self.runs, self.sleeps = True, False  # not reached if the system has no thread left

    def end(self) -> None:
        with self.lock:
            self.has_ended = True
            self.needed.set()

    def run(self) -> None:
        quiet = 0
        while not self.has_ended:
            time.sleep(_TICK_SECONDS)
            with self.lock:
                quiet = 0 if self.regions else quiet + 1
                now = read_clock()
                for region in list(self.regions.values()):
                    if now >= region.deadline and not region.is_closing:
                        self.interrupt(region)
                if quiet > _QUIET_TICKS and not self.has_ended:
                    self.sleeps = True
                    self.needed.clear()
            if quiet > _QUIET_TICKS:
                self.needed.wait()
                quiet = 0

    def interrupt(self, region: Region) -> None:
        frame = sys._current_frames().get(region.thread)
        if frame is None or frame.f_globals is globals():
            return  # in this module: the next check will interrupt it
        region.exception = region.exception or _make_exception_class(region)
        region.interruptions += 1
        if region.by_signal:
            signal.pthread_kill(region.thread, _SIGNAL)
        else:
            _set_async_exception(region.thread, region.exception)

    def restart_in_child(self) -> None:
        """Start again after a fork, which leaves only the forking thread."""
        self.lock, self.needed = threading.RLock(), threading.Event()
        clock.restart_in_child()
        here = threading.get_ident()
        self.regions = {
            key: region for key, region in self.regions.items() if region.thread == here
        }
        self.runs = False
        if self.regions:
            self.start()


_watchdog = _Watchdog()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_watchdog.restart_in_child)


def _set_async_exception(thread: int, exception: type[BaseException]) -> None:
    """Raise `exception` in `thread` at its next bytecode, instead of a pending one."""
    import ctypes

    request = ctypes.pythonapi.PyThreadState_SetAsyncExc
    request(ctypes.c_ulong(thread), ctypes.py_object(exception))


class _WithdrawnError(BaseException):
    """Raised instead of an exception that is no longer needed."""


def _withdraw_exception(thread: int) -> None:
    """Remove this thread's pending exception, by replacing it with one that is caught here.

    Otherwise the interpreter would look for an exception forever, and CPython 3.11 would hang under a tracer.
    """
    others: list[BaseException] = []
    while True:
        try:
            _set_async_exception(thread, _WithdrawnError)
            while True:
                pass
        except _WithdrawnError:
            break
        except BaseException as error:  # from a signal; the pending one must not be raised after it
            others.append(error)
    if others:
        raise others[0]


def _make_exception_class(region: Region) -> type[Interruption]:
    """Make the class to be raised for a region; the interpreter creates the instance, in the interrupted thread.

    Once code has swallowed an interruption, each one requests its successor, which is raised at the next check of
    the interpreter: a call, or the jump to the next iteration of a loop, which no handler in that loop covers.
    """
    import ctypes

    request = ctypes.pythonapi.PyThreadState_SetAsyncExc
    threads = [ctypes.c_ulong(region.thread)]

    def __init__(self: Interruption) -> None:
        BaseException.__init__(self, region)
        is_swallowed = region.interruptions > _MAX_SWALLOWED and not region.is_closing
        if is_swallowed and sys._getframe(1).f_code is not call_with_timeout.__code__:
            # A call expression would end with such a check and raise the successor here.
            [*map(request, threads, [ctypes.py_object(type(self))])]

    return type("Interruption", (Interruption,), {"__init__": __init__})


_SIGNAL: Final[int] = getattr(signal, "SIGRTMIN", 0) + 11
_get_handler = _signal.getsignal
"""The function behind `signal.getsignal`, which looks for the handler among the members of an enum."""


def _claim_signal() -> bool:
    """Return whether the signal has this module's handler; install it if the signal is unused."""
    if not hasattr(signal, "SIGRTMIN") or not hasattr(signal, "pthread_kill"):
        return False
    handler = _get_handler(_SIGNAL)
    if handler == signal.SIG_DFL:  # equal, not the same: this is the plain number
        try:
            signal.signal(_SIGNAL, _handle_signal)
        except ValueError:  # a subinterpreter handles no signals
            return False
        return True
    return handler is _handle_signal


def _handle_signal(number: int, frame: types.FrameType | None) -> None:
    """In the main thread: raise for the outermost open region that has run out of time, if any."""
    if frame is not None and frame.f_globals is globals():
        return
    now = read_clock()
    for region in list(_watchdog.regions.values()):
        is_due = region.by_signal and not region.is_closing and now >= region.deadline
        if is_due and region.exception is not None:
            raise region.exception
