"""A trace in a store, for programs of several machines: `NJC_TRACE=store:nightly`.

    StoredTrace(store, "nightly")(event)        appends the line that a trace file would have

`njc trace store:nightly` shows it. If the store fails, the log gets one warning and the program continues.
"""

from __future__ import annotations

from njrt.errors import StoreError
from njrt.events import Event
from njrt.observability.logs import warn
from njrt.observability.trace import format_event_line
from njrt.persistence.store import Store, make_store_key

PLACE_PREFIX = "store:"
"""The beginning of a trace's name, where a file's path could be."""


class StoredTrace:
    """A listener that appends every event to a log of a store."""

    wants_states = True

    def __init__(self, store: Store, name: str) -> None:
        self._store = store
        self._key = make_trace_key(name)
        self._has_failed = False

    def __call__(self, event: Event) -> None:
        """Append one event; after a failure, do nothing."""
        if self._has_failed:
            return
        try:
            self._store.append(self._key, format_event_line(event))
        except StoreError as error:
            self._has_failed = True
            warn("the trace is not written any more: %s", error)


def make_trace_key(name: str) -> str:
    """Return the key of a trace in a store."""
    return make_store_key("trace", name)
