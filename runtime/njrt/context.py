"""Stacks of what `with` statements open around the code inside them: settings, limits, watches.

    _watches: Around[Watch] = Around("njrt.watches")
    with _watches.opened(watch): ...         _watches.here() == (..., watch) for everything called inside

It holds for the code and the asynchronous tasks inside the `with`. A new thread starts without a context and sees
what the main thread has open, so that a thread pool used inside a `with` counts as inside. Concurrent tasks do not
see what another of them has opened.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from typing import Any, Generic, TypeVar

T = TypeVar("T")


_stacks: list[Around[Any]] = []


class Around(Generic[T]):
    """A stack of the items that are open around a point of the program, outermost first."""

    def __init__(self, name: str) -> None:
        self._here: ContextVar[tuple[T, ...] | None] = ContextVar(name, default=None)
        self._opened_by_main: tuple[T, ...] = ()
        self._lock = threading.Lock()
        _stacks.append(self)

    def here(self) -> tuple[T, ...]:
        """The items that are open here."""
        here = self._here.get()
        if here is not None:
            return here
        return () if _in_main() else self._opened_by_main

    @contextmanager
    def opened(self, item: T) -> Iterator[T]:
        """Open `item` inside a `with`."""
        token = self._here.set((*self.here(), item))
        in_main = _in_main()
        if in_main:
            with self._lock:
                self._opened_by_main = (*self._opened_by_main, item)
        try:
            yield item
        finally:
            self._here.reset(token)
            if in_main:
                with self._lock:
                    self._opened_by_main = tuple(
                        other for other in self._opened_by_main if other is not item
                    )

    def keep(self) -> None:
        """Have what is open here stay open in this context, also when its `with` has ended."""
        self._here.set(self.here())


def copy_surroundings() -> Context:
    """A context for work that goes on in a thread of its own, with all that is open here."""
    context = copy_context()
    for stack in _stacks:
        context.run(stack.keep)
    return context


def _in_main() -> bool:
    return threading.get_ident() == threading.main_thread().ident
