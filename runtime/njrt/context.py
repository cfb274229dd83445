"""Stacks of the items that `with` statements open around the code inside them: settings, limits, watches.

    _watches: Around[Watch] = Around()
    with _watches.opened(watch): ...         _watches.here() == (..., watch) for everything that is started inside

All stacks are carried together, in one context variable. These items hold for a piece of work:

    asyncio tasks, callbacks, jobs of thread pools       the items open at its start
    `threading.Thread`, `Timer`                          the same, and the items open in the main thread
    a forked process                                     the same, counted in that process
    a generator or coroutine that opens an item          the item holds in it, whoever resumes it
    work of unknown origin, such as in                   everything that is open in the process
    `contextvars.Context()` or threads made in C

So an item may hold for more than the work started inside it, never for less, even after its `with` has ended. Not
followed: spawned processes, work that a thread other than the main one passes through a queue to a thread that was
started outside, `__del__` and `weakref.finalize`.
"""

from __future__ import annotations

import inspect
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ContextDecorator, contextmanager
from contextvars import ContextVar, copy_context
from functools import partial, wraps
from types import FrameType
from typing import Any, Generic, ParamSpec, TypeVar

from njrt.carried import OUTSIDE, Carried, carried
from njrt.errors import ConfigurationError

T = TypeVar("T")
P = ParamSpec("P")


class Opened(Generic[T]):
    """An open item, its stack and thread, the open items around it, and the generators that were being resumed."""

    __slots__ = ("around", "before", "generators", "is_left", "item", "opener", "stack", "thread")

    def __init__(self, stack: Around[T], item: T, around: Items) -> None:
        self.stack, self.item, self.around = stack, item, around
        self.before = carried.get()
        self.thread = threading.get_ident()
        self.generators = frozenset(_list_resumed_generators())
        self.opener = _identify_work()
        self.is_left = False
        """Set if a generator has closed the item elsewhere, so that the context that opened it still carries it."""


Items = tuple[Opened[Any], ...]


class _Stacks(dict[int | None, Items]):
    """Open items: a generator's under the id of its frame, the process's under None."""

    def __missing__(self, key: int | None) -> Items:
        return ()


class _Process:
    """This process's open items (state: the items, also by generator).

    The lock is reentrant: while it is held, the collector may close a generator, and a signal handler open an item.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.stacks = _Stacks({None: ()})
        self.older_threads = {thread.ident for thread in threading.enumerate()}
        """Threads that were started before `Thread.start` was wrapped."""

    @property
    def items(self) -> Items:
        return self.stacks[None]

    def change(self, generators: Iterable[int], change: Callable[[Items], Items]) -> None:
        """Change the items, again if this thread changed them meanwhile; the last check for that makes no call."""
        with self.lock:
            for key in (None, *generators):
                before = None
                while before is not self.stacks[key]:
                    before = self.stacks[key]
                    after = change(before)
                self.stacks[key] = after
                if not after and key is not None:
                    self.stacks.pop(key, None)

    def restart_in_child(self) -> None:
        """After a fork: keep only the forking thread, with the items open around it."""
        self.lock = threading.RLock()
        self.stacks[None] = list_open()
        self.older_threads = set()
        me = threading.get_ident()
        for opened in self.items:
            opened.thread = me


class Around(Generic[T]):
    """A stack of the items that are open around a point of the program, outermost first."""

    def here(self) -> tuple[T, ...]:
        """Return the items that are open here."""
        return tuple([opened.item for opened in list_open() if opened.stack is self])

    def innermost(self) -> tuple[T, ...]:
        """Return the items here that enclose no other item: one, unless the origin of this work is unknown."""
        here = [opened for opened in list_open() if opened.stack is self]
        if len(here) > 1:
            last = here[-1]
            inner = {id(outer) for opened in here for outer in opened.around}
            here = [opened for opened in here if id(opened) not in inner or opened is last]
        return tuple([opened.item for opened in here])

    @contextmanager
    def opened(self, item: T) -> Iterator[T]:
        """Open `item` inside a `with`."""
        _wrap_pool()
        around, frames = list_open(), _find_generators()  # kept so that their ids are not reused
        generators = [id(frame) for frame in frames]
        opened = Opened(self, item, around)
        inside = Carried((*around, opened), "inherited")
        _process.change(generators, lambda items: (*items, opened))
        token = carried.set(inside)
        try:
            yield item
        finally:
            _process.change(generators, lambda items: _without(items, opened))
            now = carried.get()
            try:
                if now is not inside:
                    raise ValueError("items were opened in another order, or in another context")
                carried.reset(token)
            except ValueError:
                rest = _without(now._items, opened)
                origin = now._origin if rest else opened.before._origin
                opened.is_left = _identify_work() != opened.opener
                if len(rest) < len(now._items):
                    carried.set(Carried(rest, origin))


def list_open() -> Items:
    """Return all items that are open here, of all stacks, outermost first."""
    here = carried.get()
    found: Items = here._items
    if True in [opened.is_left for opened in found]:  # faster than a generator
        work = _identify_work()
        found = tuple([it for it in found if not (it.is_left and it.opener == work)])
        carried.set(Carried(found, here._origin))
    if here._origin != "inherited" and _process.items:
        others = (other for other in _list_process_items(here) if other not in found)
        found = (*others, *found)  # the nearest last
    for generator in _list_resumed_generators():
        own = _process.stacks[generator]
        around = [each for each in found if each not in own and generator not in each.generators]
        inside = [each for each in found if each not in own and generator in each.generators]
        found = (*around, *own, *inside)
    return found


class Opening(ContextDecorator, Generic[T]):
    """The context manager of one `with`, such as `with njrt.using(...)`; it also decorates plain functions."""

    def __init__(self, name: str, make: Callable[[], AbstractContextManager[T]]) -> None:
        self._name, self._make = name, make
        self._opened: AbstractContextManager[T] | None = None

    def __call__(self, function: Any) -> Any:
        kinds = inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction
        if any(is_kind(function) for is_kind in kinds):
            raise ConfigurationError(
                f"{self._name} above {function.__qualname__} would end before the function runs, as it is async or a "
                f"generator; write `with {self._name}(...):` inside it"
            )
        return super().__call__(function)

    def _recreate_cm(self) -> Opening[T]:
        return Opening(self._name, self._make)

    def __enter__(self) -> T:
        if self._opened is not None:
            raise ConfigurationError(
                f"this {self._name}(...) was already entered; each `with` needs a new one, such as from a function that "
                "returns it"
            )
        self._opened = self._make()
        return self._opened.__enter__()

    def __exit__(self, *error: Any) -> bool | None:
        assert self._opened is not None
        return self._opened.__exit__(*error)


def allow_one_entry(open_here: Callable[P, AbstractContextManager[T]]) -> Callable[P, Opening[T]]:
    """Return a public `njrt` function that makes an `Opening` of the context manager."""

    @wraps(open_here)
    def make(*args: P.args, **named: P.kwargs) -> Opening[T]:
        return Opening(f"njrt.{open_here.__name__}", partial(open_here, *args, **named))

    return make


def is_in_event_loop() -> bool:
    """Return whether asyncio's event loop runs in this thread, without importing asyncio."""
    events = sys.modules.get("asyncio.events")
    return events is not None and events._get_running_loop() is not None


def _identify_work() -> tuple[int, int | None]:
    """Return the ids of the thread and the task that run here."""
    task = sys.modules["asyncio.tasks"].current_task() if is_in_event_loop() else None
    return threading.get_ident(), None if task is None else id(task)


class ContextMark:
    """A point of a program, and the items that its context carries there.

    A coroutine or generator may end in a different context from the one it ran in; the other context keeps its items.
    """

    __slots__ = ("_before", "_token")

    def __init__(self) -> None:
        self._before = carried.get()
        self._token = _marks.set(None)

    def restore(self) -> None:
        """Restore open items that code has dropped from this context."""
        try:
            _marks.reset(self._token)
        except ValueError:  # another context
            return
        now, open_items = carried.get(), _process.items
        if now is not self._before and any(
            opened in open_items and opened not in now._items for opened in self._before._items
        ):
            carried.set(self._before)


_marks: ContextVar[None] = ContextVar("njrt.marks")


def _list_process_items(here: Carried) -> Iterable[Opened[Any]]:
    """Return the process's open items that may hold here, if the context does not know."""
    items, threads = _process.items, {threading.main_thread().ident}
    if here._origin == "unknown":
        if (thread := threading.get_ident()) not in _process.older_threads:
            return items
        threads.add(thread)
    return [opened for opened in items if opened.thread in threads]


def _list_resumed_generators() -> list[int]:
    """Return the frame ids of the generators with open items that are being resumed here, outermost first."""
    found: list[int] = []
    frame = sys._getframe(2) if len(_process.stacks) > 1 else None
    while frame is not None:
        if id(frame) in _process.stacks:
            found.insert(0, id(frame))
        frame = frame.f_back
    return found


def _find_generators() -> list[FrameType]:
    """Return the frames that enter a `with`, if they belong to generators or coroutines, which others may resume.

    If a context manager of the program contains a `with` of the runtime, the frame that enters the context manager
    also enters that `with`; its `__aenter__` ends before the `with` does.
    """
    found: list[FrameType] = []
    count, is_entered, frame = 0, False, sys._getframe(1).f_back
    while frame is not None:
        code = frame.f_code
        if frame.f_globals.get("__name__", "").split(".")[0] not in _OWN:
            if code.co_flags & _RESUMED and code.co_name != "__aenter__":
                found.append(frame)
            if is_entered:
                count, is_entered = len(found), False
        is_entered = is_entered or code.co_name in ("__enter__", "__aenter__")
        frame = frame.f_back
    return found[:count]


_OWN = ("njrt", "contextlib")
_RESUMED = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR | inspect.CO_COROUTINE


def _without(items: Items, closed: Opened[Any]) -> Items:
    return tuple([opened for opened in items if opened is not closed])


_process = _Process()


# ── work that is started in other threads ────────────────────────────────────────────────────────


_POOLS = {"concurrent.futures.thread", "multiprocessing.pool"}
"""Modules of pools, with workers that are started by one part of a program and work for all."""


def start_outside(thread: threading.Thread) -> None:
    """Start a thread of the runtime with no open items."""
    context = copy_context()
    context.run(carried.set, OUTSIDE)
    context.run(thread.start)


def _start(start: Callable[[threading.Thread], None], thread: threading.Thread) -> None:
    """Start a thread inside the items that are open here."""
    if getattr(getattr(thread, "_target", None), "__module__", None) in _POOLS:
        _wrap_pool()
        return start(thread)
    inside = Carried(list_open(), "thread")
    vars(thread)["run"] = partial(_run_thread, thread, thread.run, inside)
    try:
        start(thread)
    except BaseException:
        vars(thread).pop("run", None)
        raise


def _run_thread(thread: threading.Thread, run: Callable[[], None], inside: Carried) -> None:
    vars(thread).pop("run", None)
    carried.set(inside)
    run()


def _submit(
    submit: Callable[..., Any],
    pool: Any,
    function: Callable[..., Any],
    /,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Submit a call to a thread pool, inside the items that are open here."""
    if type(pool).__module__ != "concurrent.futures.interpreter":  # it pickles its calls
        function = partial(_call, Carried(list_open(), "inherited"), function)
    return submit(pool, function, *args, **kwargs)


def _call(inside: Carried, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
    token = carried.set(inside)
    try:
        return function(*args, **kwargs)
    finally:
        carried.reset(token)


def _wrap(owner: type, name: str, wrapper: Callable[..., Any]) -> None:
    """Make a method of a class call `wrapper(method, ...)`."""
    method = vars(owner)[name]

    @wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return wrapper(method, *args, **kwargs)

    setattr(owner, name, wrapped)


def _wrap_pool() -> None:
    """Wrap the `submit` of thread pools, once their module has been loaded."""
    module = sys.modules.get("concurrent.futures.thread")
    pool = getattr(module, "ThreadPoolExecutor", None)
    if pool is not None and not hasattr(pool.submit, "__wrapped__"):
        _wrap(pool, "submit", _submit)


_wrap(threading.Thread, "start", _start)


# ── locks that other threads may hold during a fork ──────────────────────────────────────────────


_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def free_in_child(lock: T) -> T:
    """Return the lock, which will be free in a forked child: the thread that held it does not exist there."""
    _locks.add(lock)
    return lock


def _free_locks() -> None:
    for lock in _locks:
        lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_process.restart_in_child)
    os.register_at_fork(after_in_child=_free_locks)
