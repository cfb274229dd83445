"""Messages between the runtime and a model, independent of any vendor.

    Request(system, messages, tools)  ──ask──>  Reply(message, stop, usage)

A conversation is a tuple of messages that starts with the runtime's `UserMessage`. The
`ToolMessage` right after a `ModelMessage` answers all its tool calls. The adapters in `models/`
translate; nothing else in the runtime knows a wire format.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from njrt.data.aliases import Json as Json
from njrt.data.aliases import Protocol as Protocol
from njrt.data.media import Attachment
from njrt.data.records import field, record

StopReason = Literal["end", "length", "refusal"]
"""Why a reply ended: normally (also with tool calls), cut off by a token limit, or refused."""


ANSWER_DECODER = json.JSONDecoder(strict=False)
"""Reads what models write; strings may contain control characters, because small models do that."""


@record
class ToolCall:
    """A model's tool call. `arguments` is None if `raw`, the model's text, is not a JSON object."""

    id: str
    name: str
    arguments: Json | None
    raw: str


@record
class ToolResult:
    """The runtime's answer to the tool call `id`; `failed` marks a refusal or an error."""

    id: str
    name: str
    text: str
    failed: bool = False


@record
class UserMessage:
    """Text from the runtime to the model, and the files shown with it."""

    text: str
    attachments: tuple[Attachment, ...] = ()


@record
class VendorContent:
    """A message from `model`, exactly as its vendor sent it.

    Some models sign their hidden thinking and must get it back unchanged with the next request. It
    is neither shown nor compared; other models get the conversation without it.
    """

    model: str
    blocks: tuple[Json, ...]


@record
class ModelMessage:
    """A message from the model: text, tool calls, or both."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    vendor_content: VendorContent | None = field(default=None, compare=False, repr=False)


@record
class ToolMessage:
    """The results of all tool calls in the preceding `ModelMessage`, in the same order."""

    results: tuple[ToolResult, ...]


Message = UserMessage | ModelMessage | ToolMessage


@record
class Tool:
    """A tool offered to the model; `parameters` is a strict JSON schema that both vendors take."""

    name: str
    description: str
    parameters: Json


@record
class Question:
    """A question with given answers; a model that can decide returns the probability of each.

    `name` is the output that it is about. The texts of the `answers` differ from each other. The
    last message of the request ends with the question and them, behind the letters A, B, C, ...
    """

    name: str
    text: str
    answers: tuple[str, ...]


@record
class Request:
    """One question to a model: the whole conversation so far.

    A `temperature` of None is the vendor's default. `timeout` is in seconds, for one model.
    `place` is the block's place (`file.njpy:line`), `turn` the number of the request in this run,
    from 1; both are for errors, recordings and traces, are never sent to a model and are not part
    of a cache key. `schema` is a JSON schema for the reply's text; adapters have the server enforce
    it if it can. `question` is asked only of a model that can decide, for the probabilities of its
    answers. `on_text`, unless None, is called with the reply's text so far, in another thread,
    while the reply comes in; never if the model does not stream. A model that makes several calls
    for one request calls `before_call` before each call except the first, with the usage of the
    previous calls; it raises a `LimitError` if no further call may be made, and returns the seconds
    that are left for it, None for no limit.
    """

    system: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    temperature: float | None = None
    max_reply_tokens: int = 4096
    timeout: float = 120.0
    place: str = ""
    turn: int = 1
    schema: Json | None = None
    question: Question | None = None
    on_text: Callable[[str], None] | None = field(default=None, compare=False, repr=False)
    before_call: Callable[[Usage], float | None] | None = field(
        default=None, compare=False, repr=False
    )


@record
class Usage:
    """Tokens of one model call, as the server counted them; `usd` is None if no price is known.

    `input` counts all prompt tokens, `cached` the part that was read from the vendor's prompt
    cache.
    """

    input: int = 0
    output: int = 0
    cached: int = 0
    usd: float | None = None

    @property
    def is_unpriced(self) -> bool:
        """Whether the call used tokens, and their price is not known."""
        return self.usd is None and self.input + self.output > 0


def add_usage(usages: Iterable[Usage]) -> Usage:
    """Return the total usage of several calls; its price is unknown if the price of any call is."""
    total = Usage(usd=0.0)
    for usage in usages:
        total = Usage(
            total.input + usage.input,
            total.output + usage.output,
            total.cached + usage.cached,
            None if total.usd is None or usage.usd is None else total.usd + usage.usd,
        )
    return total


@record
class CallAttempt:
    """One of the calls that a model made for one request: a retry or a fallback.

    `outcome` is `used`, `unusable`, or the name of the error that it ended with.
    """

    model: str
    outcome: str
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0


@record
class Reply:
    """A model's answer. `model` is the name that the server reports; `source` is its origin.

    `attempts` are all calls that were made for it, if there were several; `usage` is then their
    total. `probabilities` are those of the answers to the request's question, in their order; None
    if the reply does not give them.
    """

    message: ModelMessage
    stop: StopReason = "end"
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    source: Literal["model", "cache", "recording", "script"] = "model"
    attempts: tuple[CallAttempt, ...] = ()
    probabilities: tuple[float, ...] | None = None


def make_object_schema(properties: Mapping[str, Json]) -> dict[str, Any]:
    """Return the schema of an object with these properties, all required, and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
