"""The reply cache: equal requests to the same model are sent once.

    model = LayeredModel(OpenAI("gpt-4.1"), (Cache(store, "openai/gpt-4.1"),))

The key is the whole request as the model sees it, without place, turn and timeout. Sampled replies (at a temperature
above 0) are cached only with a `repeat` number; refused, cut off and empty replies are never cached.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from njrt.context import free_in_child
from njrt.errors import DamagedStoreError, StoreError, WrongSignatureError
from njrt.message_json import (
    format_json_line,
    hash_json,
    message_to_json,
    reply_from_json,
    reply_to_json,
)
from njrt.messages import Reply, Request
from njrt.models.model import Ask
from njrt.observability.logs import warn
from njrt.persistence.sqlite_store import SqliteStore
from njrt.records import record, replace
from njrt.stores import Store, StoreSize


@record
class Cache:
    """A layer that answers requests from `store` if `model` has answered them before.

    `model` identifies the model and its server, or is a function that returns this. `repeat` numbers the samples of a
    study.
    """

    store: ReplyStore
    model: str | Callable[[], str]
    repeat: int | None = None

    async def answer(self, request: Request, ask: Ask) -> Reply:
        if request.temperature and self.repeat is None:
            return await ask(request)
        model = self.model if isinstance(self.model, str) else self.model()
        key = make_request_key(request, model, self.repeat)
        if (cached := self._find_reply(key)) is not None:
            return cached
        reply = await ask(request)
        is_whole = reply.stop == "end" and (reply.message.calls or reply.message.text.strip())
        if is_whole:
            self.store.put(key, format_json_line(reply_to_json(reply) | {"model": reply.model}))
        return reply

    def _find_reply(self, key: str) -> Reply | None:
        text = self.store.get(key)
        if text is None:
            return None
        try:
            fields = json.loads(text)
            return replace(reply_from_json(fields, fields["model"]), source="cache")
        except (LookupError, TypeError, ValueError, AttributeError):
            return None  # written by another version of this package; the new reply replaces it


def make_request_key(request: Request, model: str, repeat: int | None = None) -> str:
    """Return a request's key in the cache, which is the same for equal requests in every process."""
    canonical: dict[str, Any] = {
        "version": 1,
        "model": model,
        "protocol": "tools" if request.tools else "text",
        "temperature": request.temperature,
        "max_reply_tokens": request.max_reply_tokens,
        "system": request.system,
        "tools": [[tool.name, tool.description, tool.parameters] for tool in request.tools],
        "messages": [message_to_json(message) for message in request.messages],
        "repeat": repeat,
    }
    if request.schema is not None:
        canonical["schema"] = request.schema
    if request.wants_probability:
        canonical["wants_probability"] = True
    return hash_json(canonical)


# ── the store of the cache: any store, wrapped so that it never raises ───────────────────────────


BREAK_SECONDS = 10.0
"""How long a shared store is left unused after it failed."""

REPLIES_FILE = "replies.sqlite3"
"""The file name of a cache in its folder."""

SHARED_PREFIX = "reply/"
"""The prefix of the cache's keys in a store with other entries."""

_BUSY_SECONDS = 2.0

T = TypeVar("T")


@record
class ReplyStats:
    """The contents of the cache, and its use in this process. Sizes are in bytes of text."""

    entries: int
    size: int
    hits: int
    misses: int


class ReplyStore:
    """Texts by key in `store`, under `prefix`. Safe to share between threads and across `fork`."""

    def __init__(
        self, store: Store, prefix: str = "", *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.store = store
        self._prefix = prefix
        self._clock = clock
        self._is_file = not prefix and isinstance(store, SqliteStore)
        self._lock = free_in_child(threading.RLock())
        self._hits = self._misses = 0
        self._has_warned = False
        self._opens_at = 0.0

    @property
    def name(self) -> str:
        """The store's file or URL."""
        return self.store.name

    def get(self, key: str) -> str | None:
        text = self._run_safely(lambda: self.store.get(self._prefix + key), None)
        with self._lock:
            self._hits += text is not None
            self._misses += text is None
        return text

    def put(self, key: str, text: str) -> None:
        self._run_safely(lambda: self.store.put(self._prefix + key, text), None)

    def read_stats(self) -> ReplyStats:
        """Count the stored texts."""
        found = self._run_safely(lambda: self.store.measure(self._prefix), StoreSize())
        return ReplyStats(found.entries, found.size, self._hits, self._misses)

    def clear(self) -> int:
        """Delete everything; return the number of deleted texts."""
        return self._run_safely(lambda: self.store.clear(self._prefix), 0)

    def close(self) -> None:
        """Close this thread's connection; it is reopened when needed."""
        self.store.close()

    def _run_safely(self, query: Callable[[], T], default: T) -> T:
        if self._opens_at and self._clock() < self._opens_at:
            return default
        try:
            return query()
        except StoreError as error:
            if not self._has_warned:
                self._has_warned = True
                warn("the cache: %s; continuing without it", error)
            if self._is_file:
                if isinstance(error, DamagedStoreError):
                    assert isinstance(self.store, SqliteStore)
                    self.store.set_aside()
            elif not isinstance(error, WrongSignatureError):
                self._opens_at = self._clock() + BREAK_SECONDS
        return default


def open_reply_store(
    folder: str | Path,
    name: str = REPLIES_FILE,
    *,
    max_bytes: int = 256 * 1024 * 1024,
    now: Callable[[], float] = time.time,
) -> ReplyStore:
    """Open the cache `folder/name`, of at most `max_bytes`; the least recently used entries are removed first."""
    path = Path(folder) / name
    return ReplyStore(SqliteStore(path, max_bytes=max_bytes, busy_seconds=_BUSY_SECONDS, now=now))
