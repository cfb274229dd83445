"""The cache of replies: an equal request to the same model is sent once.

    model = LayeredModel(OpenAI("gpt-4.1"), (Cache(store, "openai/gpt-4.1"),))

The key is the whole request as the model sees it; not place, turn and timeout. Sampled replies (a temperature above 0) are
not cached without a `repeat` number, and refused, cut off and empty replies are not either.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from njrt.message_json import (
    format_json_line,
    hash_json,
    message_to_json,
    reply_from_json,
    reply_to_json,
)
from njrt.messages import Reply, Request
from njrt.models.model import Ask

if TYPE_CHECKING:
    # It brings SQLite, which a program without a cache need not load.
    from njrt.persistence.reply_store import ReplyStore


@dataclass(frozen=True, slots=True)
class Cache:
    """A layer that answers from `store` requests that `model` has answered before.

    `model` names the model and, where it matters, its server. `repeat` numbers the samples of a study.
    """

    store: ReplyStore
    model: str
    repeat: int | None = None

    async def answer(self, request: Request, ask: Ask) -> Reply:
        """Answer from the cache, or ask the model and store the reply."""
        if request.temperature and self.repeat is None:
            return await ask(request)
        key = make_request_key(request, self.model, self.repeat)
        if (cached := self._find_reply(key)) is not None:
            return cached
        reply = await ask(request)
        if is_cacheable(reply):
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
            return None  # of another version of this package; the new reply replaces it


def make_request_key(request: Request, model: str, repeat: int | None = None) -> str:
    """Return the key of a request in the cache: the same for equal requests in every process."""
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
    return hash_json(canonical)


def is_cacheable(reply: Reply) -> bool:
    """Return whether the reply is complete and not empty."""
    return reply.stop == "end" and bool(reply.message.calls or reply.message.text.strip())
