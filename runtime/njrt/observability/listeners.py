"""Who listens to what happens in blocks: the accounts, the log, OpenTelemetry, and a trace file if one is named.

tell = listener_for(os.environ.get("NJC_TRACE"))
tell(Began(...))
"""

from __future__ import annotations

from functools import lru_cache

from njrt.events import Event, Listener, everyone
from njrt.observability.accounts import account
from njrt.observability.logs import log, warn
from njrt.observability.telemetry import Telemetry

_spans = Telemetry()


@lru_cache(maxsize=16)
def listener_for(trace: str | None = None) -> Listener:
    """The listener of a process, which also writes to the file `trace` where one is named."""
    listeners = [account, quiet(log), quiet(_spans)]
    if trace:
        from njrt.observability.trace import TraceFile

        listeners.append(quiet(TraceFile(trace)))
    return everyone(*listeners)


def quiet(listener: Listener) -> Listener:
    """A listener whose failures are warned of once, and never reach the program."""
    failed: list[type] = []

    def tell(event: Event) -> None:
        try:
            listener(event)
        except Exception as error:
            if not failed:
                failed.append(type(error))
                warn("a listener to natural blocks failed: %s: %s", type(error).__name__, error)

    return tell
