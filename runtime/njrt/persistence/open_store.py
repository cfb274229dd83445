"""Opening a store by its URL.

    open_store("sqlite:///store.sqlite3", os.environ)           a file; also a path alone
    open_store("redis://cache.example:6379/0", os.environ)      Redis; rediss:// with TLS; valkey:// is the same
    open_store("postgresql://njc@db.example/prod", os.environ)  Postgres
    open_store("memory:", os.environ)                           this process alone

What is written is signed if `NJC_STORE_SECRET` is set. A program has one store of each URL.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote, unquote

from njrt.errors import ConfigurationError, StoreError
from njrt.events import Event
from njrt.observability.logs import warn
from njrt.observability.trace import format_event_line
from njrt.persistence.memory_store import MemoryStore
from njrt.persistence.signed_store import SECRET_VARIABLE, SignedStore
from njrt.persistence.sqlite_store import SqliteStore
from njrt.private_files import find_state_folder
from njrt.stores import Store, make_store_key


def get_store(url: str | None, environ: Mapping[str, str]) -> Store:
    """Return the store of a URL, one for the whole process; None is the user's own, a file."""
    url = url or str(find_state_folder(environ) / "store.sqlite3")
    return _get_store(url, environ.get(SECRET_VARIABLE) or None)


def open_store(url: str, secret: str | None = None) -> Store:
    """Open a store, signed with `secret` if there is one; nothing is connected before it is used."""
    opened, is_shared = _open_unsigned(url)
    if secret is not None:
        return SignedStore(opened, secret)
    if is_shared:
        warn(
            "the store %s is not signed: whoever can write to it can change what this program does; set %s",
            *(opened.name, SECRET_VARIABLE),
        )
    return opened


_get_store = lru_cache(maxsize=16)(open_store)


def is_store_url(place: str) -> bool:
    """Return whether a place is the URL of a store, not a path."""
    return re.match(r"\w[\w+.-]+:", place) is not None


def make_store_url(place: str) -> str:
    """Return the URL of a store that is given by its URL, or by the path of its file."""
    return place if is_store_url(place) else f"sqlite:///{quote(place)}"


def _open_unsigned(url: str) -> tuple[Store, bool]:
    """Return the store, and whether others than this user can write to it."""
    url = make_store_url(url)
    match url.partition(":")[0].lower():
        case "memory":
            return MemoryStore(), False
        case "redis" | "rediss" | "valkey" | "valkeys":
            from njrt.persistence.redis_store import RedisStore

            return RedisStore(url, hide_password(url)), True
        case "postgres" | "postgresql":
            from njrt.persistence.postgres_store import PostgresStore

            return PostgresStore(url, hide_password(url)), True
        case "sqlite" if url.startswith("sqlite:///") and len(url) > 10:
            return SqliteStore(Path(unquote(url[10:])).expanduser()), False
    raise ConfigurationError(
        f"no store has the URL {hide_password(url)!r}; "
        "write sqlite:///FILE, redis://HOST:PORT/0, postgresql://HOST/DATABASE or memory:"
    )


def hide_password(url: str) -> str:
    """Return a URL as messages show it: without password and parameters."""
    return re.sub(r"(://[^/@:]*):.*@", r"\1@", url.partition("?")[0])


# ── traces in a store ────────────────────────────────────────────────────────────────────────────

PLACE_PREFIX = "store:"
"""The beginning of a trace's name, where a file's path could be: `NJC_TRACE=store:nightly`."""


class StoredTrace:
    """A listener that appends every event to a log of a store; if that fails, the program continues without it."""

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
