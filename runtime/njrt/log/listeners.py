"""The listeners of a process: the accounts, OpenTelemetry, and a trace file if configured.

notify = make_listener(os.environ.get("NJC_TRACE"))
notify(Began(...))

remove = add_listener(show_status)      one more, for all blocks of this process
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import TypeVar

from njrt.data.logs import warn
from njrt.events import (
    Event,
    Listener,
    StreamListener,
    combine_listeners,
    find_stream_listener,
    wants_states,
)
from njrt.log.accounts import record_event

EventT = TypeVar("EventT")

_added: list[Listener] = []


def add_listener(listener: Listener) -> Callable[[], None]:
    """Add a listener to all later blocks of this process; return a function that removes it."""
    added = SafeListener(listener)
    _added.append(added)
    return partial(_added.remove, added)


def make_added_listener() -> Listener | None:
    """Return the added listeners, for questions to a model outside a block; None without any."""
    return combine_listeners(*_added) if _added else None


def make_listener(trace: str | None = None) -> Listener:
    """Return the listener for a starting block, which also writes to the file `trace` if given.

    It includes OpenTelemetry if the program has imported it.
    """
    return _make_listener(trace, "opentelemetry.trace" in sys.modules, tuple(_added))


@lru_cache(maxsize=16)
def _make_listener(trace: str | None, has_telemetry: bool, added: tuple[Listener, ...]) -> Listener:
    listeners: list[Listener] = [record_event]
    listeners += [_open_telemetry()] if has_telemetry else []
    listeners += [_open_trace(trace)] if trace else []
    return combine_listeners(*listeners, *added)


@cache
def _open_telemetry() -> Listener:
    from njrt.log.telemetry import Telemetry

    return SafeListener(Telemetry())


@lru_cache(maxsize=16)
def _open_trace(path: str) -> Listener:
    from njrt.log.trace import TraceFile

    return SafeListener(TraceFile(path))


class SafeListener:
    """A listener that never raises and warns of its first failure (state: whether it failed)."""

    def __init__(self, listener: Listener) -> None:
        self.wants_states = wants_states(listener)
        self._listener = listener
        self._has_failed = False
        streamed = find_stream_listener(listener)
        self.receive_streamed: StreamListener | None = streamed and partial(self._pass, streamed)

    def __call__(self, event: Event) -> None:
        self._pass(self._listener, event)

    def _pass(self, receive: Callable[[EventT], None], event: EventT) -> None:
        try:
            receive(event)
        except Exception as error:
            if not self._has_failed:
                self._has_failed = True
                warn("a listener to natural blocks failed: %s: %s", type(error).__name__, error)
