"""Messages and replies as JSON that a person can read in a diff, and back.

    UserMessage("Sum <prices>.\\n---")          {"user": ["Sum <prices>.", "---"]}
    ToolMessage((ToolResult(..., "3"),))       {"results": [{"name": "run", "text": ["3"]}]}
    Reply(ModelMessage("", (run(...),)), ...)  {"calls": [{"name": "run", "code": ["x = 1"], "done": true}], ...}

Text stands as a list of its lines. The ids of tool calls are left out of what is compared: a vendor
draws them at random, and they mean nothing outside of one conversation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, assert_never

from njrt.messages import (
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
    """One line of JSON, in plain text where UTF-8 can hold it and escaped where it cannot."""
    line = json.dumps(value, ensure_ascii=False)
    return line if _is_encodable(line) else json.dumps(value)


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True


def parse_json_lines(lines: Iterable[str]) -> Iterator[Any]:
    """Read lines of JSON; one that is none is left out: the last of a process that was killed."""
    for line in lines:
        try:
            yield json.loads(line)
        except ValueError:
            continue


def hash_json(value: Any) -> str:
    """A name for a JSON value: the same for equal values, in every process and whatever the order of keys."""
    import hashlib  # takes milliseconds, and only recordings and caches need it

    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:32]


def hash_conversation(messages: Sequence[Message]) -> str:
    """A name for a conversation, by what is said in it."""
    return hash_json([message_to_json(message) for message in messages])


def list_new_messages(messages: Sequence[Message]) -> Sequence[Message]:
    """What has been said since the model last spoke."""
    for index in range(len(messages) - 1, -1, -1):
        if isinstance(messages[index], ModelMessage):
            return messages[index + 1 :]
    return messages


def message_to_json(message: Message) -> Json:
    """Write a message, without the ids of its tool calls."""
    match message:
        case UserMessage(text):
            return {"user": text.split("\n")}
        case ModelMessage(text, calls):
            return {"model": text.split("\n"), "calls": [_call_to_json(call) for call in calls]}
        case ToolMessage(results):
            return {
                "results": [
                    {"name": result.name, "text": result.text.split("\n")}
                    | ({"failed": True} if result.failed else {})
                    for result in results
                ]
            }
        case _:
            assert_never(message)


def _call_to_json(call: ToolCall) -> dict[str, Any]:
    if call.arguments is None:
        return {"name": call.name, "raw": call.raw}
    arguments = dict(call.arguments)
    code = arguments.pop("code", None)
    if isinstance(code, str):
        return {"name": call.name, "code": code.split("\n"), "arguments": arguments}
    return {"name": call.name, "arguments": dict(call.arguments)}


def reply_to_json(reply: Reply) -> dict[str, Any]:
    """Write a reply: what it says, how it ended if not by itself, and what it used."""
    message = reply.message
    written: dict[str, Any] = {}
    if message.text:
        written["text"] = message.text.split("\n")
    if message.calls:
        written["calls"] = [{"id": call.id} | _call_to_json(call) for call in message.calls]
    if reply.stop != "end":
        written["stop"] = reply.stop
    usage = reply.usage
    written["usage"] = {"input": usage.input, "output": usage.output} | (
        {"cached": usage.cached} if usage.cached else {}
    )
    if usage.usd is not None:
        written["usage"]["usd"] = usage.usd
    return written


def reply_from_json(written: Mapping[str, Any], model: str) -> Reply:
    """Read a reply back; raise a LookupError, TypeError or ValueError where it is not one."""
    calls = tuple(_call_from_json(call) for call in written.get("calls", ()))
    stop = written.get("stop", "end")
    if stop not in ("end", "length", "refusal"):
        raise ValueError(f"a reply cannot stop by {stop!r}")
    message = ModelMessage("\n".join(written.get("text", ())), calls)
    return Reply(message, stop, Usage(**written.get("usage", {})), model)


def _call_from_json(written: Mapping[str, Any]) -> ToolCall:
    if "raw" in written:
        return ToolCall(written["id"], written["name"], None, written["raw"])
    code = {"code": "\n".join(written["code"])} if "code" in written else {}
    arguments = code | dict(written["arguments"])
    return ToolCall(written["id"], written["name"], arguments, json.dumps(arguments))
