"""Stacks of what `with` statements open around the code inside: settings, limits, watches, gates.

    _watches = Stack("njrt.watches")
    with _watches.opened(watch): ...         _watches.here() == (..., watch) inside

Each stack is a `contextvars.ContextVar`, so an item holds where Python's contexts do: in asyncio
tasks, callbacks of an event loop and `asyncio.to_thread`. A new thread has an empty context;
`carry` takes the open items into it.

A context is known if it descends from the one that imported njrt, in which everything open is
visible. In another one, such as a thread's, items may be missing, so restrictions that are open
elsewhere are errors there.
"""

from __future__ import annotations

import inspect
import os
import sys
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, ContextDecorator
from contextvars import ContextVar, copy_context
from functools import partial, wraps
from operator import attrgetter
from typing import Any, Generic, ParamSpec, TypeVar

from njrt.data.root_context import is_known
from njrt.errors import ConfigurationError

T = TypeVar("T")
P = ParamSpec("P")

is_context_known = is_known.get
"""Returns whether everything that is open around the code here is visible here."""

_stacks: list[Stack[Any]] = []


class Stack(Generic[T]):
    """The items that are open around a point of the program, outermost first.

    `everywhere` has all that are open in the process.
    """

    def __init__(self, name: str) -> None:
        self.variable: ContextVar[tuple[_Opened[T], ...]] = ContextVar(name, default=())
        self.everywhere: dict[_Opened[T], None] = {}
        _stacks.append(self)

    def here(self) -> tuple[T, ...]:
        """Return the items that are open here."""
        return tuple(map(_get_item, self.variable.get()))

    def innermost(self) -> T | None:
        """Return the innermost item that is open here; None if there is none."""
        inside = self.variable.get()
        return inside[-1]._item if inside else None

    def list_everywhere(self) -> list[T]:
        """Return the items that are open anywhere in this process."""
        return list(map(_get_item, list(self.everywhere)))

    def opened(self, item: T) -> _Opened[T]:
        """Return a context manager that opens `item`."""
        return _Opened(self, item)


class _Opened(Generic[T]):
    """An item inside its `with`, which may end in another context than it began, as in a generator.

    Code of a model may read context variables, but the guard hides attributes that start with `_`.
    """

    __slots__ = ("_item", "_stack")

    def __init__(self, stack: Stack[T], item: T) -> None:
        self._stack, self._item = stack, item

    def __enter__(self) -> T:
        self._change(lambda inside: (*inside, self))
        self._stack.everywhere[self] = None
        return self._item

    def __exit__(self, *error: object) -> None:
        self._stack.everywhere.pop(self, None)
        self._change(lambda inside: tuple([opened for opened in inside if opened is not self]))

    def _change(self, change: Callable[[tuple[_Opened[T], ...]], tuple[_Opened[T], ...]]) -> None:
        """Change what is open here, while the collector may close generators and their items."""
        variable, everywhere = self._stack.variable, self._stack.everywhere
        before = list(everywhere)
        variable.set(change(variable.get()))
        while closed := [it for it in variable.get() if it in before and it not in everywhere]:
            variable.set(tuple([opened for opened in variable.get() if opened not in closed]))


_get_item = attrgetter("_item")

open_approvals: Stack[None] = Stack("njrt.approvals")
"""The `with using` that let a program or a person decide about effects or calls."""


def check_context(place: str) -> None:
    """Raise ConfigurationError in an unknown context if an approval is open elsewhere."""
    is_safe = is_context_known() or open_approvals.here()
    if not is_safe and open_approvals.everywhere:
        raise ConfigurationError(
            f"{place}: this runs in a thread or context without the settings of the code that"
            " started it, while an approval (njrt.using(intercept=...) or calls=...) is open in"
            " the process; start it with njrt.carry(function)"
        )


def carry(function: Callable[P, T]) -> Callable[P, T]:
    """Return a function that runs with what is open here, in whatever thread it is called.

        pool.submit(njrt.carry(triage), mail)       Thread(target=njrt.carry(work)).start()

    Each call gets a copy of the context, which includes the program's own context variables. The
    function may be a coroutine function; a generator function is a ConfigurationError.
    """
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ConfigurationError(
            "njrt.carry takes no generator, whose code runs in the context of its reader: "
            f"{function!r}; carry the function that reads it"
        )
    context = copy_context()
    if not inspect.iscoroutinefunction(function):
        return wraps(function)(lambda *args, **named: context.copy().run(function, *args, **named))

    @wraps(function)
    async def run(*args: P.args, **named: P.kwargs) -> Any:
        import asyncio

        return await asyncio.create_task(function(*args, **named), context=context.copy())

    return run  # type: ignore[return-value]


class Opening(ContextDecorator, Generic[T]):
    """The manager of a `with` such as `with njrt.using(...)`; it also decorates plain functions."""

    def __init__(self, name: str, make: Callable[[], AbstractContextManager[T]]) -> None:
        self._name, self._make = name, make
        self._opened: AbstractContextManager[T] | None = None

    def __call__(self, function: Any) -> Any:
        kinds = inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction
        if any(is_kind(function) for is_kind in kinds):
            raise ConfigurationError(
                f"{self._name} above {function.__qualname__} would end before the function runs, as"
                f" it is async or a generator; write `with {self._name}(...):` inside it"
            )
        return super().__call__(function)

    def _recreate_cm(self) -> Opening[T]:
        return Opening(self._name, self._make)

    def __enter__(self) -> T:
        if self._opened is not None:
            raise ConfigurationError(
                f"this {self._name}(...) was already entered; each `with` needs a new one, such as"
                " from a function that returns it"
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


class ContextMark:
    """A point of a program, and the items that are open there."""

    __slots__ = ("_before", "_token")

    def __init__(self) -> None:
        self._before = copy_context()
        self._token = _marks.set(None)

    def restore(self, is_interrupted: bool = False) -> None:
        """Reopen items that code has dropped here; close what it has left open if interrupted.

        A coroutine or generator may end in another context than it ran in, which stays as it is.
        """
        try:
            _marks.reset(self._token)
        except ValueError:  # another context
            return
        for stack in _stacks:
            before, now = self._before.get(stack.variable, ()), stack.variable.get()
            if now is before:
                continue
            if is_interrupted:  # perhaps in the middle of a `with`
                for opened in set(now) - set(before):
                    stack.everywhere.pop(opened, None)
            is_dropped = any(it not in now and it in stack.everywhere for it in before)
            if is_dropped or is_interrupted:
                stack.variable.set(before)


_marks: ContextVar[None] = ContextVar("njrt.marks")

_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def free_in_child(lock: T) -> T:
    """Return the lock, which is free in a forked child: the thread that held it is not there."""
    _locks.add(lock)
    return lock


def _restart_in_child() -> None:
    """After a fork, which leaves only the forking thread: keep what is open there."""
    for lock in _locks:
        lock._at_fork_reinit()
    for stack in _stacks:
        stack.everywhere = dict.fromkeys(stack.variable.get())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_restart_in_child)
