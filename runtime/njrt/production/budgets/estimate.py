"""The most that a model call can cost, before it is made.

    estimate_call(model, request)     Estimate(Usage(input=8_412, output=4_096), usd=0.0496)

A token has at least one byte of text, so the bytes of a prompt are more than its tokens. Not seen: how long a file is that
is shown by its URL, and tokens that a vendor adds beyond `EXTRA_TOKENS`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from njrt.media import Media
from njrt.message_json import message_to_json
from njrt.messages import Request, Usage, UserMessage
from njrt.models.model import Model
from njrt.models.prices import compute_cost
from njrt.models.scripted import Scripted

EXTRA_TOKENS = 512
"""Tokens of a prompt for which there is no text: of the vendor's own format."""

TOKENS_PER_MESSAGE = 16

IMAGE_TOKENS = 50_000
"""More than any vendor counts for one image."""

LINKED_FILE_TOKENS = 200_000
"""What is reserved for a file that the vendor downloads; it may have more."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The most tokens that a call can use, and what they cost in US dollars; None: the price is not known."""

    usage: Usage
    usd: float | None


def estimate_call(model: Model, request: Request, with_price: bool = True) -> Estimate:
    """Estimate one call of a model. A scripted model costs nothing that is known before.

    Without the price, its data need not be loaded.
    """
    prompt = sum(len(text.encode("utf-8", "surrogatepass")) for text in list_prompt_texts(request))
    prompt += sum(map(count_file_tokens, list_files(request)))
    prompt += EXTRA_TOKENS + TOKENS_PER_MESSAGE * len(request.messages)
    reply = request.max_reply_tokens + count_thinking_tokens(model.name)
    usage = Usage(prompt, reply)
    if isinstance(model, Scripted) or not with_price:
        return Estimate(usage, 0.0)
    written = compute_cost(model.name, usage, prompt)
    plain = compute_cost(model.name, usage)
    costs = [cost for cost in (written, plain) if cost is not None]
    return Estimate(usage, max(costs, default=None))


def list_prompt_texts(request: Request) -> Iterator[str]:
    """Everything of a request that its server counts."""
    yield request.system
    parts: list[Any] = [[tool.name, tool.description, tool.parameters] for tool in request.tools]
    parts += [message_to_json(message) for message in request.messages]
    parts += [request.schema] if request.schema is not None else []
    for part in parts:
        yield json.dumps(part, ensure_ascii=False)


def list_files(request: Request) -> Iterator[Media]:
    """Yield the files that are shown with a request."""
    for message in request.messages:
        if isinstance(message, UserMessage):
            yield from (attachment.media for attachment in message.attachments)


def count_file_tokens(media: Media) -> int:
    """Return the most tokens of a file: an image has as many as it has tiles, all else no more than bytes."""
    if media.kind == "image":
        return IMAGE_TOKENS
    return len(media.data) or LINKED_FILE_TOKENS


def count_thinking_tokens(name: str) -> int:
    """Return the tokens that a model may think with, beyond those of the reply."""
    from njrt.models.anthropic import NON_THINKING_PREFIXES
    from njrt.models.openai import find_thinking_family
    from njrt.models.remote import THINKING_TOKENS

    provider, _, model = name.partition("/")
    thinks = (provider == "openai" and find_thinking_family(model)) or (
        provider == "anthropic" and not model.startswith(NON_THINKING_PREFIXES)
    )
    return THINKING_TOKENS if thinks else 0
