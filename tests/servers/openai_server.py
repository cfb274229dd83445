"""A server that speaks OpenAI's chat completions, and is as strict about them as the vendor.

    with OpenAIServer([says("hello"), calls(("run", '{"code": "x = 1", "done": true}'))]) as server: ...
    with OpenAIServer([says("hello")], vendor=False) as server: ...     one of one's own, as llama.cpp

What it refuses, it refuses with the vendor's status and error body; `vendor=False` knows only the older
fields, wants no key, and renders the conversation by a template that insists on alternating roles.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from loopback import Answer, Loopback, Response, Seen, Status

KEY = "sk-loopback-0123456789abcdef"
MODELS = ("gpt-4.1", "o4-mini", "gpt-5-mini", "gpt-6-sol", "gpt-6.1-sol")

FIELDS = {
    "model",
    "messages",
    "tools",
    "tool_choice",
    "temperature",
    "max_tokens",
    "response_format",
    "stream",
    "stream_options",
    "logprobs",
    "top_logprobs",
}
VENDOR_FIELDS = FIELDS | {
    "max_completion_tokens",
    "reasoning_effort",
    "parallel_tool_calls",
}
MESSAGE_FIELDS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls"},
    "tool": {"role", "content", "tool_call_id"},
}


def says(text: str | None, **extra: Any) -> Answer:
    """Return a completion with this text; `extra` goes into the message."""
    return completion({"role": "assistant", "content": text} | extra)


def calls(*named: tuple[str, str], ids: bool = True, finish: str = "tool_calls") -> Answer:
    """Return a completion that calls tools, each given as (name, arguments as the model wrote them)."""
    tool_calls = [
        {
            "id": f"call_loopback{number}" if ids else None,
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        for number, (name, arguments) in enumerate(named)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": tool_calls}
    return completion(message, finish)


def decides(*tokens: tuple[str, float], finish: str = "length") -> Answer:
    """Return a completion of one token, the first of these with their probabilities."""
    likeliest = [{"token": it, "logprob": math.log(p), "bytes": None} for it, p in tokens]
    answer = completion({"role": "assistant", "content": tokens[0][0]}, finish)
    first = likeliest[0] | {"top_logprobs": likeliest}
    answer.body["choices"][0]["logprobs"] = {"content": [first]}
    return answer


def completion(message: Any, finish: str = "stop", usage: Any = "some") -> Answer:
    """Return a whole completion with this message."""
    counted = {
        "prompt_tokens": 1000,
        "completion_tokens": 20,
        "total_tokens": 1020,
        "prompt_tokens_details": {"cached_tokens": 600},
    }
    return Answer(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": "gpt-4.1-2025-04-14",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": counted if usage == "some" else usage,
        }
    )


class OpenAIServer(Loopback):
    def __init__(
        self,
        script: Iterable[Response] = (),
        *,
        vendor: bool = True,
        models: tuple[str, ...] = MODELS,
        enforces_schemas: bool = True,
        streams: bool = True,
    ) -> None:
        super().__init__(script)
        self.enforces_schemas = enforces_schemas
        self.streams = streams
        self.vendor = vendor
        self.key = KEY if vendor else None
        self.models = models

    @property
    def base_url(self) -> str:
        return self.url + "/v1"

    def find_refusal(self, seen: Seen) -> Status | None:
        if self.key and seen.headers.get("authorization") != f"Bearer {self.key}":
            sent = seen.headers.get("authorization", "").removeprefix("Bearer ")
            return _error(401, f"Incorrect API key provided: {sent}.", "invalid_api_key")
        if seen.method == "GET" and seen.path == "/v1/models":
            return None
        if seen.method != "POST" or seen.path != "/v1/chat/completions":
            return _error(404, f"Invalid URL ({seen.method} {seen.path})")
        model = seen.body.get("model")
        if model not in self.models:
            return _error(404, f"The model `{model}` does not exist", "model_not_found")
        if "response_format" in seen.body and not self.enforces_schemas:
            return _error(400, "'response_format' is not supported with this model.")
        if "stream" in seen.body and not self.streams:
            return _error(400, "Unrecognized request argument supplied: stream")
        complaint = next(complaints(seen.body, self.vendor), None)
        return _error(400, complaint) if complaint else None

    def split_answer(self, body: Any) -> Sequence[Any]:
        return list(split_completion(body))

    def answer_without_script(self, seen: Seen) -> Answer | None:
        if seen.path != "/v1/models":
            return None
        listed = [{"id": model, "object": "model"} for model in self.models]
        return Answer({"object": "list", "data": listed})


def split_completion(body: Any, size: int = 5) -> Iterator[Any]:
    """Yield a completion as the events of a stream, in pieces of so many characters."""
    choice, head = body["choices"][0], {"id": body["id"], "model": body["model"]}
    message = choice["message"]

    def make_event(delta: Any, finish: str | None = None) -> Any:
        return head | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield make_event({"role": "assistant", "content": ""})
    for name in ("content", "refusal"):
        for start in range(0, len(message.get(name) or ""), size):
            yield make_event({name: message[name][start : start + size]})
    for index, call in enumerate(message.get("tool_calls") or ()):
        function = call["function"]
        begin = {"index": index, "id": call["id"], "type": "function"}
        yield make_event(
            {"tool_calls": [begin | {"function": {"name": function["name"], "arguments": ""}}]}
        )
        for start in range(0, len(function["arguments"]), size):
            piece = {"arguments": function["arguments"][start : start + size]}
            yield make_event({"tool_calls": [{"index": index, "function": piece}]})
    yield make_event({}, choice["finish_reason"])
    yield head | {"choices": [], "usage": body["usage"]}
    yield "[DONE]"


def _error(status: int, message: str, code: str | None = None) -> Status:
    kind = "invalid_request_error"
    return Status(status, body={"error": {"message": message, "type": kind, "code": code}})


def complaints(body: dict[str, Any], vendor: bool) -> Iterator[str]:
    """What the server has against the body of a chat completion."""
    for name in body.keys() - (VENDOR_FIELDS if vendor else FIELDS):
        yield f"Unrecognized request argument supplied: {name}"
    yield from _parameter_complaints(body)
    yield from _message_complaints(body.get("messages") or [], vendor)
    if "tool_choice" in body and not body.get("tools"):
        yield "'tool_choice' is only allowed when 'tools' are specified."
    for tool in body.get("tools", ()):
        yield from _tool_complaints(tool)
    if "response_format" in body:
        yield from _format_complaints(body["response_format"], vendor)


def _format_complaints(form: dict[str, Any], vendor: bool) -> Iterator[str]:
    if form.get("type") != "json_schema" or not form.get("json_schema", {}).get("name"):
        yield "Invalid 'response_format'."
        return
    schema = form["json_schema"].get("schema")
    if vendor:
        if schema.get("type") != "object" or "anyOf" in schema:
            yield "Invalid schema for response_format: the root must have type 'object'."
        if form["json_schema"].get("strict"):
            yield from schema_complaints(schema, "schema")


STRICT_KEYWORDS = {
    *("type", "description", "enum", "anyOf", "$ref", "$defs", "items"),
    *("properties", "required", "additionalProperties"),
}


def _parameter_complaints(body: dict[str, Any]) -> Iterator[str]:
    model = body["model"]
    if not 0 <= body.get("top_logprobs", 0) <= 20 or ("top_logprobs" in body) > (
        "logprobs" in body
    ):
        yield "Invalid value for 'top_logprobs'."
    if "max_tokens" in body and "max_completion_tokens" in body:
        yield "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
    if re.match(r"o\d|gpt-[56]", model):
        for name in body.keys() & {"max_tokens", "temperature"}:
            yield f"Unsupported parameter: '{name}' is not supported with this model."
        if "logprobs" in body:
            yield "Unsupported parameter: 'logprobs' is not supported with this model."
    elif "reasoning_effort" in body:
        yield "Unrecognized request argument supplied: reasoning_effort"
    effort = body.get("reasoning_effort")
    if model.startswith("gpt-6") and body.get("tools") and effort != "none":
        yield f"Function tools with reasoning_effort are not supported for {model}."
    if model.startswith("gpt-6.1") and effort == "none":
        yield "Unsupported value: 'reasoning_effort' does not support 'none' with this model."


def _message_complaints(messages: list[Any], vendor: bool) -> Iterator[str]:
    if not messages:
        yield "Invalid 'messages': empty array."
    unanswered: list[str] = []
    role_before = None
    for position, message in enumerate(messages):
        place, role = f"messages[{position}]", message.get("role")
        if role not in MESSAGE_FIELDS:
            yield f"Invalid value: '{role}' at {place}.role."
            return
        for name in message.keys() - MESSAGE_FIELDS[role]:
            yield f"Unknown parameter: '{place}.{name}'."
        if role == "tool":
            if message.get("tool_call_id") not in unanswered:
                yield f"{place}: 'tool' must be a response to a preceding message with 'tool_calls'."
            else:
                unanswered.remove(message["tool_call_id"])
        elif unanswered:
            yield f"'tool_calls' must be followed by tool messages; {unanswered} did not have any."
        if not vendor and role == role_before and role != "tool":
            yield "conversation roles must alternate user/assistant/user/assistant/..."
        yield from _content_complaints(message, place)
        if role == "assistant":
            unanswered = [call["id"] for call in message.get("tool_calls", ())]
        role_before = role
    if unanswered:
        yield f"'tool_calls' must be followed by tool messages; {unanswered} did not have any."


def _content_complaints(message: dict[str, Any], place: str) -> Iterator[str]:
    content, tool_calls = message.get("content"), message.get("tool_calls")
    if tool_calls == []:
        yield f"Invalid '{place}.tool_calls': empty array."
    if isinstance(content, list) and message["role"] == "user":
        for part in content:
            yield from _part_complaints(part, f"{place}.content")
    elif not isinstance(content, str) and not (content is None and tool_calls):
        yield f"Invalid value for '{place}.content': expected a string, got {content!r}."
    if content == "" and message["role"] != "tool":
        yield f"Invalid '{place}.content': empty string."
    for call in tool_calls or ():
        function = call.get("function", {})
        if call.keys() != {"id", "type", "function"} or call["type"] != "function":
            yield f"Invalid '{place}.tool_calls'."
        if not isinstance(call.get("id"), str) or not 0 < len(call["id"]) <= 40:
            yield f"Invalid '{place}.tool_calls.id': expected a string of 1 to 40 characters."
        if not isinstance(function.get("arguments"), str):
            yield f"Invalid type for '{place}.tool_calls.function.arguments'."
        elif not isinstance(json.loads(function["arguments"]), dict):
            yield "the chat template wants the arguments of a tool call to be an object"


def _part_complaints(part: dict[str, Any], place: str) -> Iterator[str]:
    match part:
        case {"type": "text", "text": str(text), **others} if text and not others:
            return
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            if not re.match(r"https?://|data:image/(?:png|jpeg|gif|webp);base64,", url):
                yield f"Invalid '{place}.image_url': unsupported image."
        case {"type": "file", "file": {"filename": str(name), "file_data": str(data)}}:
            if not name or not data.startswith("data:application/pdf;base64,"):
                yield f"Invalid '{place}.file': expected a base64-encoded PDF."
        case {"type": "input_audio", "input_audio": {"data": str(), "format": "wav" | "mp3"}}:
            return
        case _:
            yield f"Invalid '{place}': unknown part {part.get('type')!r}."


def _tool_complaints(tool: dict[str, Any]) -> Iterator[str]:
    function = tool.get("function", {})
    if tool.keys() != {"type", "function"} or tool["type"] != "function":
        yield "Invalid 'tools'."
    for name in function.keys() - {"name", "description", "parameters", "strict"}:
        yield f"Unknown parameter: 'tools.function.{name}'."
    if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", function.get("name", "")):
        yield "Invalid 'tools.function.name'."
    if function.get("strict"):
        yield from schema_complaints(function.get("parameters"), "parameters")


def schema_complaints(schema: Any, place: str) -> Iterator[str]:
    """What strict mode has against a JSON schema."""
    if not isinstance(schema, dict) or not schema.keys() & {"type", "anyOf", "enum", "$ref"}:
        yield f"Invalid schema at {place}: schema must have a 'type' key."
        return
    for name in schema.keys() - STRICT_KEYWORDS:
        yield f"Invalid schema at {place}: '{name}' is not permitted."
    for choice in schema.get("anyOf", ()):
        yield from schema_complaints(choice, place)
    if schema.get("type") == "object":
        properties = schema.get("properties", {})
        if schema.get("additionalProperties") is not False:
            yield f"Invalid schema at {place}: 'additionalProperties' must be false."
        if sorted(schema.get("required", ())) != sorted(properties):
            yield f"Invalid schema at {place}: 'required' must include every key in properties."
        for name, inner in properties.items():
            yield from schema_complaints(inner, f"{place}.{name}")
    if "items" in schema:
        yield from schema_complaints(schema["items"], f"{place}[]")
    for name, inner in schema.get("$defs", {}).items():
        yield from schema_complaints(inner, f"{place}.{name}")
    for inner in schema.get("anyOf", ()):
        yield from schema_complaints(inner, place)
