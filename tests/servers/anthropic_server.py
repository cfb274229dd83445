"""A server that speaks Anthropic's messages API, and is as strict about it as the vendor.

    with AnthropicServer([message(text("hello")), message(tool_use("toolu_1", "run", {...}))]) as server: ...

What it refuses, it refuses with the vendor's status and error body. A message that it has sent with thinking
in it must come back exactly as it was.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from loopback import Answer, Loopback, Response, Seen, Status
from openai_server import schema_complaints

KEY = "sk-ant-loopback-0123456789abcdef"
MODELS = ("claude-sonnet-4-6", "claude-sonnet-5-5")
VERSIONS = ("2023-06-01", "2026-10-21")

FIELDS = {"model", "max_tokens", "messages", "system", "tools", "tool_choice", "stream"}
SAMPLING_FIELDS = {"temperature", "top_p", "top_k"}
BLOCK_FIELDS = {
    "text": {"type", "text", "cache_control"},
    "tool_use": {"type", "id", "name", "input", "cache_control"},
    "tool_result": {"type", "tool_use_id", "content", "is_error", "cache_control"},
    "thinking": {"type", "thinking", "signature"},
    "image": {"type", "source", "cache_control"},
    "document": {"type", "source", "title", "cache_control"},
}
IMAGE_TYPES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
ASSISTANT_BLOCKS = {"text", "tool_use", "thinking"}
USER_BLOCKS = {"text", "tool_result", "image", "document"}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def tool_use(id: str, name: str, input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def thinking(signature: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": "", "signature": signature}


def message(*content: dict[str, Any], stop: str | None = None, usage: Any = "some") -> Answer:
    """Return a whole message with this content."""
    used = any(block["type"] == "tool_use" for block in content)
    counted = {
        "input_tokens": 100,
        "cache_creation_input_tokens": 300,
        "cache_read_input_tokens": 600,
        "output_tokens": 20,
    }
    return Answer(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-6",
            "content": list(content),
            "stop_reason": stop or ("tool_use" if used else "end_turn"),
            "stop_sequence": None,
            "usage": counted if usage == "some" else usage,
        }
    )


def error(status: int, kind: str, said: str) -> Status:
    """Return an error as the vendor words it."""
    body = {"type": "error", "error": {"type": kind, "message": said}, "request_id": "req_1"}
    return Status(status, body=body)


class AnthropicServer(Loopback):
    key = KEY

    def __init__(self, script: Iterable[Response] = ()) -> None:
        super().__init__(script)
        self._thought: dict[str, list[Any]] = {}

    def split_answer(self, body: Any) -> Sequence[Any]:
        return list(split_message(body))

    def choose_response(self, seen: Seen) -> Response:
        response = super().choose_response(seen)
        if isinstance(response, Answer):
            for block in response.body["content"]:
                if block["type"] == "thinking":
                    self._thought[block["signature"]] = response.body["content"]
        return response

    def find_refusal(self, seen: Seen) -> Status | None:
        bearer = seen.headers.get("authorization", "").removeprefix("Bearer ")
        if (seen.headers.get("x-api-key") or bearer) != KEY:
            return error(401, "authentication_error", f"invalid x-api-key: {bearer}")
        if seen.method != "POST" or seen.path != "/v1/messages":
            return error(404, "not_found_error", "Not Found")
        version = seen.headers.get("anthropic-version")
        if version not in VERSIONS:
            said = f"anthropic-version: {version!r} is not a valid version"
            return error(400, "invalid_request_error", said)
        if seen.body.get("model") not in MODELS:
            return error(404, "not_found_error", f"model: {seen.body.get('model')}")
        complaint = next(self._complaints(seen.body, version), None)
        return error(400, "invalid_request_error", complaint) if complaint else None

    def _complaints(self, body: dict[str, Any], version: str) -> Iterator[str]:
        known = FIELDS if version >= "2026" else FIELDS | SAMPLING_FIELDS
        for name in body.keys() - known:
            yield f"{name}: Extra inputs are not permitted"
        if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
            yield "max_tokens: Field required"
        yield from _conversation_complaints(body.get("messages") or [])
        yield from self._thinking_complaints(body.get("messages") or [])
        yield from _system_complaints(body.get("system"))
        for tool in body.get("tools", ()):
            yield from _tool_complaints(tool)

    def _thinking_complaints(self, messages: list[Any]) -> Iterator[str]:
        for turn in messages:
            for block in turn["content"]:
                if block["type"] != "thinking":
                    continue
                if self._thought.get(block["signature"]) != turn["content"]:
                    yield "`thinking` blocks in the latest assistant message cannot be modified."
        last_said = next((turn for turn in reversed(messages) if turn["role"] == "assistant"), None)
        for sent in self._thought.values():
            uses = [block for block in sent if block["type"] == "tool_use"]
            same = last_said and uses and uses == _of_type(last_said, "tool_use")
            if same and last_said["content"] != sent:
                yield "Expected `thinking`, but found `tool_use`."


def split_message(body: Any, size: int = 5) -> Iterator[Any]:
    """Yield a message as the events of a stream, in pieces of so many characters."""
    counted = body["usage"] or {}
    begin = counted | {"output_tokens": 1} if counted else None
    head = {"content": [], "stop_reason": None, "usage": begin}
    yield {"type": "message_start", "message": body | head}
    yield {"type": "ping"}
    for index, block in enumerate(body["content"]):
        empty = {
            "text": {"text": ""},
            "tool_use": {"input": {}},
            "thinking": {"thinking": "", "signature": ""},
        }
        yield {
            "type": "content_block_start",
            "index": index,
            "content_block": block | empty[block["type"]],
        }
        for kind, name, whole in _list_parts(block):
            step = len(whole) or 1 if kind == "signature_delta" else size  # it comes as a whole
            for start in range(0, len(whole), step):
                delta = {"type": kind, name: whole[start : start + step]}
                yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    used = {"output_tokens": counted["output_tokens"]} if counted else None
    yield {"type": "message_delta", "delta": {"stop_reason": body["stop_reason"]}, "usage": used}
    yield {"type": "message_stop"}


def _list_parts(block: dict[str, Any]) -> list[tuple[str, str, str]]:
    match block["type"]:
        case "text":
            return [("text_delta", "text", block["text"])]
        case "tool_use":
            return [("input_json_delta", "partial_json", json.dumps(block["input"]))]
        case _:
            return [
                ("thinking_delta", "thinking", block["thinking"]),
                ("signature_delta", "signature", block["signature"]),
            ]


def _of_type(turn: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [block for block in turn["content"] if block["type"] == kind]


def _conversation_complaints(messages: list[Any]) -> Iterator[str]:
    if not messages:
        yield "messages: at least one message is required"
        return
    asked: list[str] = []
    for position, turn in enumerate(messages):
        place, role = f"messages.{position}", ("user", "assistant")[position % 2]
        if turn.keys() != {"role", "content"} or turn["role"] != role:
            yield f"{place}: roles must alternate between user and assistant, starting with user"
        if not turn["content"] or not isinstance(turn["content"], list):
            yield f"{place}: all messages must have non-empty content"
            return
        for block in turn["content"]:
            yield from _block_complaints(block, turn["role"], place)
        results = [block.get("tool_use_id") for block in _of_type(turn, "tool_result")]
        if sorted(results) != sorted(asked):
            yield f"{place}: `tool_use` ids {asked} need `tool_result` blocks immediately after, found {results}"
        first = [block["type"] for block in turn["content"][: len(results)]]
        if "text" in first:
            yield f"{place}: tool_result blocks must come first in the content"
        asked = [block["id"] for block in _of_type(turn, "tool_use")]
    if messages[-1]["role"] != "user":
        yield "This model does not support assistant message prefill."


def _block_complaints(block: dict[str, Any], role: str, place: str) -> Iterator[str]:
    kind = block.get("type")
    if kind not in (USER_BLOCKS if role == "user" else ASSISTANT_BLOCKS):
        yield f"{place}: {kind} blocks are not permitted in {role} messages"
        return
    for name in block.keys() - BLOCK_FIELDS[kind]:
        yield f"{place}.{kind}.{name}: Extra inputs are not permitted"
    if kind == "text" and not block["text"].strip():
        yield f"{place}: text content blocks must be non-empty"
    if kind in ("image", "document"):
        yield from _source_complaints(block.get("source"), kind, place)
    if kind == "tool_use" and not isinstance(block.get("input"), dict):
        yield f"{place}.tool_use.input: Input should be a valid dictionary"
    if kind == "tool_use" and not re.fullmatch(r"[a-zA-Z0-9_-]+", block.get("id", "")):
        yield f"{place}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
    for inner in block.get("content", ()):
        yield from _block_complaints(inner, "user", place)


def _source_complaints(source: Any, kind: str, place: str) -> Iterator[str]:
    match source:
        case {"type": "url", "url": str(url)} if url.startswith(("http://", "https://")):
            return
        case {"type": "base64", "media_type": str(media_type), "data": str()}:
            if media_type not in (IMAGE_TYPES if kind == "image" else {"application/pdf"}):
                yield f"{place}.{kind}.source.base64.media_type: unsupported {media_type}"
        case _:
            yield f"{place}.{kind}.source: Input tag does not match any of the expected tags"


def _system_complaints(system: Any) -> Iterator[str]:
    for block in system or ():
        yield from _block_complaints(block, "user", "system")
        if block.get("cache_control", {"type": "ephemeral"}) != {"type": "ephemeral"}:
            yield "system.cache_control: Input should be 'ephemeral'"


def _tool_complaints(tool: dict[str, Any]) -> Iterator[str]:
    for name in tool.keys() - {"name", "description", "input_schema", "cache_control", "strict"}:
        yield f"tools.{name}: Extra inputs are not permitted"
    if not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", tool.get("name", "")):
        yield "tools.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"
    if tool.get("strict"):
        if tool["input_schema"].get("type") != "object":
            yield "tools.input_schema.type: Input should be 'object'"
        yield from schema_complaints(tool["input_schema"], "tools.input_schema")
    if tool.get("input_schema", {}).get("type") != "object":
        yield "tools.input_schema.type: Field required"
