"""Messages and replies as JSON that is readable in a diff, and back.

    UserMessage("Sum <prices>.\\n---")          {"user": ["Sum <prices>.", "---"]}
    UserMessage("...", (photo,))               {"user": [...], "attached": [{"name": "photo", ...}]}
    ToolMessage((ToolResult(..., "3"),))       {"results": [{"name": "run", "text": ["3"]}]}
    Reply(ModelMessage("", (run(...),)), ...)  {"calls": [{"name": "run", "code": [...], ...}], ...}

Text is a list of its lines. The ids of tool calls are not compared, because vendors choose them at
random and they mean nothing outside one conversation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, assert_never

from njrt.data.media import Attachment
from njrt.messages import (
    ANSWER_DECODER,
    CallAttempt,
    Json,
    Message,
    ModelMessage,
    Reply,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)


def format_json_line(value: Any) -> str:
    """Return one line of JSON; non-ASCII text is escaped only if it cannot be encoded in UTF-8."""
    line = json.dumps(value, ensure_ascii=False)
    try:
        line.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return json.dumps(value)
    return line


def drop_empty(**fields: Any) -> dict[str, Any]:
    """Return the fields that have a value; a line omits empty fields."""
    return {name: value for name, value in fields.items() if value}


def parse_json_lines(lines: Iterable[str]) -> Iterator[Any]:
    """Parse lines of JSON; skip invalid ones, such as the last line of a killed process."""
    for line in lines:
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            continue


MAX_SEARCHED = 20_000
"""How many characters at the end of a text are searched for a JSON object."""


def find_last_object(text: str) -> dict[str, Any] | None:
    """Return the last outermost object in a text, as JSON or as a Python dict; None without one.

    Small models write `None` and single quotes if no schema is enforced.
    """
    text = text[-MAX_SEARCHED:]
    found, start = None, text.find("{")
    for _ in range(MAX_TRIED):
        if start < 0:
            break
        try:
            value, end = ANSWER_DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            line = text[start:].partition("\n")[0]
            value, end = _read_literal(line[: line.rfind("}") + 1]), start + 1
            if value is not None:
                end = start + len(line)
        found = found if value is None else value
        start = text.find("{", end)
    return found


def _read_literal(text: str) -> dict[str, Any] | None:
    """Return the value of a Python dict literal, if it has a JSON form."""
    import ast

    try:
        value = ast.literal_eval(text)
        json.dumps(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


MAX_TRIED = 500
"""How many braces are tried as the start of an object."""


def hash_json(value: Any) -> str:
    """Return a digest of a JSON value, the same for equal values in every process and key order."""
    import hashlib  # takes milliseconds; only recordings and caches need it

    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:32]


def hash_conversation(messages: Sequence[Message]) -> str:
    """Return a digest of a conversation's text."""
    return hash_json([message_to_json(message) for message in messages])


def list_new_messages(messages: Sequence[Message], turn: int) -> Sequence[Message]:
    """Return the messages after the model's last, or all, even examples, in the first turn."""
    if turn == 1:
        return messages
    for index in range(len(messages) - 1, -1, -1):
        if isinstance(messages[index], ModelMessage):
            return messages[index + 1 :]
    return messages


def message_to_json(message: Message) -> Json:
    """Return a message as JSON, without the ids of its tool calls."""
    match message:
        case UserMessage(text, files):
            attached = list(map(attachment_to_json, files))
            return {"user": text.split("\n"), **drop_empty(attached=attached)}
        case ModelMessage(text, calls):
            return {"model": text.split("\n"), "calls": [_call_to_json(call) for call in calls]}
        case ToolMessage(results):
            return {
                "results": [
                    {"name": result.name, "text": result.text.split("\n")}
                    | drop_empty(failed=result.failed)
                    for result in results
                ]
            }
        case _:
            assert_never(message)


def attachment_to_json(attachment: Attachment) -> dict[str, Any]:
    """Return a file as JSON, by its digest and without its bytes."""
    media = attachment.media
    fields: dict[str, Any] = {"name": attachment.name, "media_type": media.media_type}
    fields |= {"url": media.shown_url} if media.url else {"size": len(media.data)}
    return fields | {"digest": media.digest}


def format_attached(fields: Mapping[str, Any]) -> str:
    """Return a line of text about a file that was shown, from its JSON."""
    what = fields.get("url") or f"{fields.get('size', 0):,} bytes"
    return (
        f"{fields.get('name')}: {fields.get('media_type')}, {what}, sha256 {fields.get('digest')}"
    )


def _call_to_json(call: ToolCall) -> dict[str, Any]:
    if call.arguments is None:
        return {"name": call.name, "raw": call.raw}
    arguments = dict(call.arguments)
    code = arguments.pop("code", None)
    if isinstance(code, str):
        return {"name": call.name, "code": code.split("\n"), "arguments": arguments}
    return {"name": call.name, "arguments": dict(call.arguments)}


def reply_to_json(reply: Reply) -> dict[str, Any]:
    """Return a reply as JSON: its text, calls and usage, and its stop reason unless it is `end`."""
    message = reply.message
    fields: dict[str, Any] = {}
    if message.text:
        fields["text"] = message.text.split("\n")
    if message.calls:
        fields["calls"] = [{"id": call.id} | _call_to_json(call) for call in message.calls]
    if reply.stop != "end":
        fields["stop"] = reply.stop
    fields["usage"] = usage_to_json(reply.usage)
    if reply.attempts:
        fields["attempts"] = attempts_to_json(reply.attempts)
    if reply.probabilities is not None:
        fields["probabilities"] = list(reply.probabilities)
    return fields


def usage_to_json(usage: Usage) -> dict[str, Any]:
    """Return a call's usage, without unknown parts."""
    usd = {"usd": usage.usd} if usage.usd is not None else {}
    counts = {"input": usage.input, "output": usage.output} | drop_empty(cached=usage.cached)
    return counts | usd


def attempts_to_json(attempts: Iterable[CallAttempt]) -> list[dict[str, Any]]:
    """Return the calls that were made for one request."""
    return [
        {"model": made.model, "outcome": made.outcome, "seconds": made.seconds}
        | {"usage": usage_to_json(made.usage)}
        for made in attempts
    ]


def reply_from_json(fields: Mapping[str, Any], model: str) -> Reply:
    """Parse a reply; raise LookupError, TypeError, ValueError or AttributeError if it is not one.

    The attempts are left out, because no call is made for a stored reply.
    """
    calls = tuple(_call_from_json(call) for call in fields.get("calls", ()))
    stop = fields.get("stop", "end")
    if stop not in ("end", "length", "refusal"):
        raise ValueError(f"unknown stop reason {stop!r}")
    message = ModelMessage("\n".join(fields.get("text", ())), calls)
    usage = fields.get("usage", {})
    counts = {name: usage.get(name, 0) for name in ("input", "output", "cached")}
    used = Usage(**counts, usd=usage.get("usd"))
    found = fields.get("probabilities")
    return Reply(
        *(message, stop, used, model),
        probabilities=None if found is None else tuple(map(float, found)),
    )


def _call_from_json(fields: Mapping[str, Any]) -> ToolCall:
    if "raw" in fields:
        arguments = ANSWER_DECODER.decode(fields["raw"]) if "arguments" in fields else None
        return ToolCall(fields["id"], fields["name"], arguments, fields["raw"])
    code = {"code": "\n".join(fields["code"])} if "code" in fields else {}
    arguments = code | dict(fields.get("arguments", {}))
    return ToolCall(fields["id"], fields["name"], arguments, json.dumps(arguments))
