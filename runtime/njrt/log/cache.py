"""The reply cache: equal requests to the same model are sent once.

    model = LayeredModel(OpenAI("gpt-4.1"), (Cache(store, "openai/gpt-4.1"),))

The key is the whole request as the model sees it, without place, turn and timeout. Sampled replies
(at a temperature above 0) are cached only with a `repeat` number; refused, cut off and empty
replies are never cached.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from njrt.data.logs import warn
from njrt.data.message_json import (
    format_json_line,
    hash_json,
    message_to_json,
    reply_from_json,
    reply_to_json,
)
from njrt.data.records import record, replace
from njrt.errors import StoreError, WrongSignatureError
from njrt.log.sqlite_store import SqliteStore
from njrt.messages import Reply, Request
from njrt.models.model import Ask
from njrt.stores import Store

T = TypeVar("T")


@record
class Cache:
    """A layer that answers requests from `store` if `model` has answered them before.

    `model` identifies the model and its server, or is a function that returns this. `repeat`
    numbers the samples of a study.
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
    """Return a request's key in the cache, the same for equal requests in every process."""
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
    if request.question is not None:
        canonical |= {"wants_probability": True, "answers": list(request.question.answers)}
    return hash_json(canonical)


# ── the store of the cache, which never raises ───────────────────────────────────────────────────


REPLIES_FILE = "replies.sqlite3"
"""The file name of a cache in its folder."""

SHARED_PREFIX = "reply/"
"""The prefix of the cache's keys in a store with other entries."""

_BUSY_SECONDS = 2.0


class ReplyStore:
    """Texts by key in `store`, under `prefix` (state: whether it has failed, and is left alone)."""

    def __init__(self, store: Store, prefix: str = "") -> None:
        """Use a store."""
        self._store, self._prefix = store, prefix
        self._has_warned = self._has_failed = False

    def get(self, key: str) -> str | None:
        """Return the text of a key, or None."""
        return self._try(lambda: self._store.get(self._prefix + key))

    def put(self, key: str, text: str) -> None:
        """Set the text of a key."""
        self._try(lambda: self._store.put(self._prefix + key, text))

    def _try(self, query: Callable[[], T]) -> T | None:
        if self._has_failed:
            return None
        try:
            return query()
        except StoreError as error:
            if not self._has_warned:
                self._has_warned = True
                warn("the cache: %s; continuing without it", error)
            self._has_failed = not isinstance(error, WrongSignatureError)  # about one text
        return None


def open_cache_file(
    folder: str | Path,
    now: Callable[[], float] = time.time,
) -> SqliteStore:
    """Open the cache in a folder."""
    return SqliteStore(Path(folder) / REPLIES_FILE, busy_seconds=_BUSY_SECONDS, now=now)
