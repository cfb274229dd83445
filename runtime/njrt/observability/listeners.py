"""The listeners of a process: the accounts, the log, OpenTelemetry, and a trace file if one is set.

notify = make_listener(os.environ.get("NJC_TRACE"))
notify(Began(...))
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache

from njrt.events import Asked, Event, Listener, Replied, RunId, Unanswered, combine_listeners
from njrt.messages import Reply, Request
from njrt.models.model import Ask
from njrt.observability.accounts import record_event
from njrt.observability.logs import log_event, warn
from njrt.observability.telemetry import Telemetry

_telemetry = Telemetry()


@lru_cache(maxsize=16)
def make_listener(trace: str | None = None) -> Listener:
    """The listener of a process, which also writes to the file `trace` if it is given."""
    listeners = [record_event, make_safe_listener(log_event), make_safe_listener(_telemetry)]
    if trace:
        from njrt.observability.trace import TraceFile

        listeners.append(make_safe_listener(TraceFile(trace)))
    return combine_listeners(*listeners)


def make_safe_listener(listener: Listener) -> Listener:
    """A listener that logs its first failure as a warning and never raises."""
    failed: list[type] = []

    def notify(event: Event) -> None:
        try:
            listener(event)
        except Exception as error:
            if not failed:
                failed.append(type(error))
                warn("a listener to natural blocks failed: %s: %s", type(error).__name__, error)

    return notify


@dataclass(frozen=True, slots=True)
class Notified:
    """A layer that reports each request to the model, and its reply or error, to a listener."""

    run: RunId
    listener: Listener

    async def answer(self, request: Request, ask: Ask) -> Reply:
        began = time.monotonic()
        self.listener(Asked(self.run, time.time(), request))
        try:
            reply = await ask(request)
        except BaseException as error:
            seconds = time.monotonic() - began
            self.listener(Unanswered(self.run, time.time(), request.turn, error, seconds))
            raise
        seconds = time.monotonic() - began
        self.listener(Replied(self.run, time.time(), request.turn, reply, seconds))
        return reply
