"""The listeners of a process: the accounts, the log, OpenTelemetry, and a trace file if one is set.

notify = make_listener(os.environ.get("NJC_TRACE"))
notify(Began(...))

remove = add_listener(show_status)      one more, for all blocks of this process
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import TypeVar

from njrt.events import (
    Asked,
    Event,
    Listener,
    Replied,
    RunId,
    Streamed,
    StreamListener,
    Unanswered,
    combine_listeners,
    find_stream_listener,
    wants_states,
)
from njrt.messages import Reply, Request
from njrt.models.model import Ask
from njrt.observability.accounts import record_event
from njrt.observability.logs import is_log_enabled, log_event, warn
from njrt.observability.telemetry import Telemetry
from njrt.records import record

EventT = TypeVar("EventT")

_telemetry = Telemetry()
_added: tuple[Listener, ...] = ()


def add_listener(listener: Listener) -> Callable[[], None]:
    """Add a listener to all blocks of this process that begin from now on; return what removes it."""
    global _added
    _added = (*_added, SafeListener(listener))
    added = _added[-1]
    _make_listener.cache_clear()

    def remove() -> None:
        global _added
        _added = tuple(other for other in _added if other is not added)
        _make_listener.cache_clear()

    return remove


def make_added_listener() -> Listener | None:
    """Return the added listeners alone, for what asks a model outside of a block; None if there are none."""
    return combine_listeners(*_added) if _added else None


def make_listener(trace: str | None = None) -> Listener:
    """Return the listener for a block that begins now, which also writes to the file `trace` if it is given.

    The log and OpenTelemetry are among its listeners if the program has set them up.
    """
    return _make_listener(trace, is_log_enabled(), _telemetry.is_enabled)


@lru_cache(maxsize=16)
def _make_listener(trace: str | None, has_log: bool, has_telemetry: bool) -> Listener:
    listeners: list[Listener] = [record_event]
    listeners += [SafeListener(log_event)] if has_log else []
    listeners += [SafeListener(_telemetry)] if has_telemetry else []
    if trace:
        from njrt.observability.trace import TraceFile

        listeners.append(SafeListener(TraceFile(trace)))
    return combine_listeners(*listeners, *_added)


class SafeListener:
    """A listener that logs its first failure as a warning and never raises (state: whether it has failed)."""

    def __init__(self, listener: Listener) -> None:
        self.wants_states = wants_states(listener)
        self._listener = listener
        self._has_failed = False
        streamed = find_stream_listener(listener)
        self.receive_streamed: StreamListener | None = streamed and partial(self._pass, streamed)

    def __call__(self, event: Event) -> None:
        """Pass an event on."""
        self._pass(self._listener, event)

    def _pass(self, receive: Callable[[EventT], None], event: EventT) -> None:
        try:
            receive(event)
        except Exception as error:
            if not self._has_failed:
                self._has_failed = True
                warn("a listener to natural blocks failed: %s: %s", type(error).__name__, error)


@record
class Notified:
    """A layer that reports each request to the model, and its reply or error, to a listener."""

    run: RunId
    listener: Listener

    async def answer(self, request: Request, ask: Ask) -> Reply:
        began = time.monotonic()
        self.listener(Asked(self.run, time.time(), request))
        streamed = find_stream_listener(self.listener)

        def report_text(text: str) -> None:
            assert streamed is not None
            streamed(Streamed(self.run, time.time(), request.turn, text))

        try:
            reply = await ask(replace(request, on_text=report_text) if streamed else request)
        except BaseException as error:
            seconds = time.monotonic() - began
            self.listener(Unanswered(self.run, time.time(), request.turn, error, seconds))
            raise
        seconds = time.monotonic() - began
        self.listener(Replied(self.run, time.time(), request.turn, reply, seconds))
        return reply
