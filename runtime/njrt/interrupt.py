"""Stopping Python code that takes too long, in any thread.

    with time_limit(2.0):
        while True: ...              OutOfTime leaves the `with`, at most a fifth of a second late

One daemon thread watches all open regions. When a region's time is up, code in the main thread is
interrupted by a signal of the runtime's own, which also ends waiting C calls such as `time.sleep` and
`lock.acquire`; code in another thread by an asynchronous exception, raised at its next bytecode. Both are
repeated for as long as the code swallows them, and neither reaches code outside the region: a region is
closed under the same lock under which it is interrupted, and what is still pending then is withdrawn.

What cannot be stopped: a C call that holds the interpreter's lock (`10 ** 10 ** 8`, a catastrophic regular
expression), in any thread; a waiting C call in another thread than the main one, before it returns; in
the main thread too where the system has no such signal or the program uses that one itself. Code of
the program that a region calls is interrupted like any other, wherever it happens to be.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Final, TypeVar

T = TypeVar("T")

_TICK: Final = 0.1
"""Seconds between two looks of the watchdog, and between two interruptions of one region."""

_GRACE: Final = 0.5
"""Seconds that cancelled code has to clean up after itself."""

_QUIET_TICKS: Final = 20
"""Looks that find nothing to watch before the watchdog goes to sleep until it is needed."""


class OutOfTime(TimeoutError):
    """The code in a `time_limit` region took longer than its limit and was stopped."""


class Interruption(BaseException):
    """Raised inside a region whose time is up; leaves the region as `OutOfTime`."""


class time_limit:
    """A region that is interrupted when its `seconds` of wall time are up; None is no limit.

    Regions may be nested and may be open in many threads at once. Each ends in the thread it began in.
    Let the body be a call: an interruption (or a Ctrl-C) that strikes just where a `try` begins in the
    frame of the `with` itself can miss its `__exit__` on CPython 3.11 and 3.12.
    """

    __slots__ = ("deadline", "fired", "leaving", "seconds", "signalled", "thread")

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self.fired = False
        self.leaving = False
        self.signalled = False

    def __enter__(self) -> None:
        if self.seconds is None:
            return
        self.deadline = time.monotonic() + self.seconds
        self.thread = threading.get_ident()
        try:
            _watchdog.watch(self)
        except BaseException:  # the interruption of a region around this one
            _watchdog.leave(self)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        if self.seconds is None:
            return
        # An interruption may strike at any bytecode until `leave` is through. Once `leaving` is set no
        # further one is sent, so the second attempt is always the last.
        try:
            self.leaving = True
            _watchdog.leave(self)
        except Interruption:
            self.leaving = True
            try:
                _watchdog.leave(self)
            except Interruption:
                _watchdog.leave(self)
        if self.fired and (not isinstance(error, Interruption) or error.args == (self,)):
            raise OutOfTime(_too_long(self.seconds)) from None


async def awaited_within(seconds: float | None, coroutine: Coroutine[Any, Any, T]) -> T:
    """Await `coroutine` for at most `seconds` of wall time, else `OutOfTime`.

    While it runs, it is interrupted as in a `time_limit`; while it waits, it is cancelled by its asyncio
    task, as `asyncio.timeout` does it, so that other tasks of the thread are never touched. Under another
    event loop than asyncio's it may wait for as long as that loop lets it.
    """
    if seconds is None:
        return await coroutine
    import asyncio

    deadline = time.monotonic() + seconds
    if asyncio._get_running_loop() is None:
        return await _in_steps(coroutine, deadline)
    try:
        async with asyncio.timeout(seconds) as limit:
            return await _in_steps(coroutine, deadline)
    except OutOfTime:
        raise OutOfTime(_too_long(seconds)) from None
    except TimeoutError:
        if not limit.expired():
            raise
        raise OutOfTime(_too_long(seconds)) from None


@types.coroutine
def _in_steps(coroutine: Coroutine[Any, Any, T], deadline: float) -> Generator[Any, Any, T]:
    """Drive a coroutine, each step of it in a region of its own; nothing is limited while it waits."""
    step: Callable[[Any], Any] = coroutine.send
    value: Any = None
    while True:
        with time_limit(max(deadline - time.monotonic(), _GRACE)):
            try:
                awaited = step(value)
            except StopIteration as stop:
                result: T = stop.value
                return result
        try:
            step, value = coroutine.send, (yield awaited)
        except GeneratorExit:
            coroutine.close()
            raise
        except BaseException as error:
            step, value = coroutine.throw, error


def _too_long(seconds: float) -> str:
    return f"the code ran for more than {seconds:g} seconds"


class _Watchdog:
    """The thread that watches the open regions. It is started by the first region and sleeps without any."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.needed = threading.Event()
        self.regions: dict[int, time_limit] = {}
        self.runs = False
        self.sleeps = False

    def watch(self, region: time_limit) -> None:
        with self.lock:
            self.regions[id(region)] = region
            if not self.runs:
                self.start()
            elif self.sleeps:
                self.sleeps = False
                self.needed.set()
        if threading.main_thread().ident == region.thread:
            region.signalled = _signal_is_ours()

    def leave(self, region: time_limit) -> None:
        with self.lock:
            self.regions.pop(id(region), None)
            if region.fired and not region.signalled:
                _send(region.thread, None)

    def start(self) -> None:
        self.runs, self.sleeps = True, False
        threading.Thread(target=self.run, name="njrt-time-limit", daemon=True).start()

    def run(self) -> None:
        quiet = 0
        while True:
            time.sleep(_TICK)
            with self.lock:
                quiet = 0 if self.regions else quiet + 1
                now = time.monotonic()
                for region in list(self.regions.values()):
                    if now >= region.deadline and not region.leaving:
                        self.interrupt(region)
                if quiet > _QUIET_TICKS:
                    self.sleeps = True
                    self.needed.clear()
            if quiet > _QUIET_TICKS:
                self.needed.wait()
                quiet = 0

    def interrupt(self, region: time_limit) -> None:
        region.fired = True
        if region.signalled:
            signal.pthread_kill(region.thread, _SIGNAL)
        else:
            _send(region.thread, region)

    def restart_in_child(self) -> None:
        """After a fork only the forking thread is left: the lock is new, and so is the watchdog."""
        self.lock, self.needed = threading.Lock(), threading.Event()
        here = threading.get_ident()
        self.regions = {key: each for key, each in self.regions.items() if each.thread == here}
        self.runs = False
        if self.regions:
            self.start()


_watchdog = _Watchdog()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_watchdog.restart_in_child)


def _send(thread: int, region: time_limit | None) -> None:
    """Have an `Interruption` raised in `thread` at its next bytecode, or withdraw a pending one."""
    import ctypes

    raised: object = None
    if region is not None:
        # The interpreter wants a class and calls it without arguments.
        def __init__(self: Interruption) -> None:
            BaseException.__init__(self, region)

        raised = type("Interruption", (Interruption,), {"__init__": __init__})
    pending = ctypes.py_object(raised) if raised is not None else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), pending)


_SIGNAL: Final[int] = getattr(signal, "SIGRTMIN", 0) + 11


def _signal_is_ours() -> bool:
    """Whether the runtime's signal has the runtime's handler; installs it where the signal is free."""
    if not hasattr(signal, "SIGRTMIN") or not hasattr(signal, "pthread_kill"):
        return False
    handler = signal.getsignal(_SIGNAL)
    if handler is signal.SIG_DFL:
        try:
            signal.signal(_SIGNAL, _on_signal)
        except ValueError:  # a subinterpreter handles no signals
            return False
        return True
    return handler is _on_signal


def _on_signal(number: int, frame: types.FrameType | None) -> None:
    """In the main thread: raise for the outermost open region whose time is up, if there still is one."""
    now = time.monotonic()
    for region in list(_watchdog.regions.values()):
        if region.signalled and region.fired and not region.leaving and now >= region.deadline:
            raise Interruption(region)
