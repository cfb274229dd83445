"""Stopping Python code that takes too long, in any thread.

    within(2.0, endless)         raises DeadlineExceeded, at most a fifth of a second late
    within(2.0, quick)           gives what quick() gives

One daemon thread watches all such calls. When the time of one is up, code in the main thread is
interrupted by a signal of the runtime's own, which also ends waiting C calls such as `time.sleep` and
`lock.acquire`; code in another thread by an asynchronous exception, raised at its next bytecode. Both are
repeated for as long as the code swallows them, and neither reaches code after the call: its region is
closed under the same lock under which it is interrupted, and what is still pending then is withdrawn.
A context manager could not promise that: `__exit__` may be struck before its first line.

What cannot be stopped: a C call that holds the interpreter's lock (`10 ** 10 ** 8`, a catastrophic regular
expression), in any thread; a waiting C call in another thread than the main one, before it returns; in
the main thread too where the system has no such signal or the program uses that one itself. Code of
the program that a region calls is interrupted like any other, wherever it happens to be.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import types
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

_TICK_SECONDS: Final = 0.1
"""Seconds between two looks of the watchdog, and between two interruptions of one region."""

_GRACE_SECONDS: Final = 0.5
"""Seconds that cancelled code has to clean up after itself."""

_QUIET_TICKS: Final = 20
"""Looks that find nothing to watch before the watchdog goes to sleep until it is needed."""


class DeadlineExceeded(TimeoutError):
    """The code took longer than its limit and was stopped."""


class Interruption(BaseException):
    """Raised inside a region whose time is up; leaves `call_with_timeout` as `DeadlineExceeded`."""


@dataclass(eq=False, slots=True)
class Region:
    """One call that is limited: until when, in which thread, and how far it has come."""

    deadline: float
    thread: int
    by_signal: bool = False
    fired: bool = False
    leaving: bool = False


def call_with_timeout(seconds: float | None, action: Callable[[], T]) -> T:
    """Call `action`, which is Python code, for at most `seconds` of wall time, else `DeadlineExceeded`.

    Calls may be nested and may run in many threads at once.
    """
    if seconds is None:
        return action()
    region = Region(time.monotonic() + seconds, threading.get_ident())
    try:
        try:
            _watchdog.watch(region)
            result = action()
        finally:
            region.leaving = True
            _watchdog.unwatch(region)
    except BaseException as error:
        # An interruption that was under way when the action ended strikes in `leave`, and this is the
        # second attempt. There is no third: nothing is sent to a thread while it runs in this module.
        region.leaving = True
        _watchdog.unwatch(region)
        if region.fired and (not isinstance(error, Interruption) or error.args == (region,)):
            raise DeadlineExceeded(_format_timeout(seconds)) from None
        raise
    if region.fired:
        raise DeadlineExceeded(_format_timeout(seconds))
    return result


class Allowance:
    """Seconds that several calls share: `left` is what they have not used yet."""

    def __init__(self, seconds: float) -> None:
        self.left = seconds

    def call(self, most: float, action: Callable[[], T]) -> T:
        """Call `action` as `call_with_timeout` does, for at most `most` of the seconds that are left."""
        began = time.monotonic()
        try:
            return call_with_timeout(min(most, self.left), action)
        finally:
            self.left -= time.monotonic() - began


async def await_with_timeout(seconds: float | None, coroutine: Coroutine[Any, Any, T]) -> T:
    """Await `coroutine` for at most `seconds` of wall time, else `DeadlineExceeded`.

    While it runs, it is interrupted as by `call_with_timeout`; while it waits, it is cancelled by its asyncio
    task, as `asyncio.timeout` does it, so that other tasks of the thread are never touched. If it goes on
    all the same, it is left for good. Under another event loop than asyncio's it may wait for as long as
    that loop lets it.
    """
    if seconds is None:
        return await coroutine
    import asyncio

    alarm = _Alarm(time.monotonic() + seconds)
    if asyncio._get_running_loop() is None or (task := asyncio.current_task()) is None:
        return await _drive_steps(coroutine, alarm)
    cancelled, loop = task.cancelling(), asyncio.get_running_loop()

    def ring() -> None:
        alarm.rung += 1
        task.cancel()
        alarm.next = loop.call_later(_GRACE_SECONDS, ring)

    alarm.next = loop.call_later(seconds, ring)
    try:
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


@dataclass(slots=True)
class _Alarm:
    """Until when a coroutine may run, and how often it has been told that its time is up."""

    deadline: float
    rung: int = 0
    next: asyncio.TimerHandle | None = None


@types.coroutine
def _drive_steps(coroutine: Coroutine[Any, Any, T], alarm: _Alarm) -> Generator[Any, Any, T]:
    """Drive a coroutine, each step of it in a region of its own; nothing is limited while it waits."""
    # What comes next is taken out before it is called: an exception that waits here to be thrown would hold
    # the frames that it then passes through, and they would hold it.
    following: list[Callable[[], Any]] = [partial(coroutine.send, None)]
    while True:
        left = max(alarm.deadline - time.monotonic(), _GRACE_SECONDS)
        try:
            awaited = call_with_timeout(left, lambda: following.pop()())
        except StopIteration as stop:
            result: T = stop.value
            return result
        except Interruption as stopped:
            if stopped.args:
                raise  # that of a region around all this
            raise DeadlineExceeded from None
        if alarm.rung > 1:  # it has swallowed its cancellation, and what came then
            _abandon_coroutine(coroutine)
        try:
            following.append(partial(coroutine.send, (yield awaited)))
        except GeneratorExit:
            coroutine.close()
            raise
        except BaseException as error:
            # A cancellation can be caught by any `except:`, so a second one comes in another shape.
            following.append(partial(coroutine.throw, Interruption() if alarm.rung > 1 else error))


def _abandon_coroutine(coroutine: Coroutine[Any, Any, Any]) -> None:
    with suppress(RuntimeError, DeadlineExceeded):  # RuntimeError: it goes on even now
        call_with_timeout(_GRACE_SECONDS, coroutine.close)
    raise DeadlineExceeded


def _format_timeout(seconds: float) -> str:
    return f"the code ran for more than {seconds:g} seconds"


class _Watchdog:
    """The thread that watches the open regions. It is started by the first region and sleeps without any."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.needed = threading.Event()
        self.regions: dict[int, Region] = {}
        self.runs = False
        self.sleeps = False

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
            if region.fired and not region.by_signal:
                _set_async_exception(region.thread, None)

    def start(self) -> None:
        self.runs, self.sleeps = True, False
        threading.Thread(target=self.run, name="njrt-time-limit", daemon=True).start()

    def run(self) -> None:
        quiet = 0
        while True:
            time.sleep(_TICK_SECONDS)
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

    def interrupt(self, region: Region) -> None:
        frame = sys._current_frames().get(region.thread)
        if frame is None or frame.f_globals is globals():
            return  # between two calls; there will be another look
        region.fired = True
        if region.by_signal:
            signal.pthread_kill(region.thread, _SIGNAL)
        else:
            _set_async_exception(region.thread, region)

    def restart_in_child(self) -> None:
        """After a fork only the forking thread is left: the lock is new, and so is the watchdog."""
        self.lock, self.needed = threading.Lock(), threading.Event()
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


def _set_async_exception(thread: int, region: Region | None) -> None:
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


def _claim_signal() -> bool:
    """Whether the runtime's signal has the runtime's handler; installs it where the signal is free."""
    if not hasattr(signal, "SIGRTMIN") or not hasattr(signal, "pthread_kill"):
        return False
    handler = signal.getsignal(_SIGNAL)
    if handler is signal.SIG_DFL:
        try:
            signal.signal(_SIGNAL, _handle_signal)
        except ValueError:  # a subinterpreter handles no signals
            return False
        return True
    return handler is _handle_signal


def _handle_signal(number: int, frame: types.FrameType | None) -> None:
    """In the main thread: raise for the outermost open region whose time is up, if there still is one."""
    if frame is not None and frame.f_globals is globals():
        return
    now = time.monotonic()
    for region in list(_watchdog.regions.values()):
        if region.by_signal and region.fired and not region.leaving and now >= region.deadline:
            raise Interruption(region)
