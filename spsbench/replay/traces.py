"""Traces of agents, in the format in which Nightjar's authors publish theirs.

    {"file_name": "menu", "model": "openai/gpt-4.1", "run": 0, "trace": [
        {"role": "user", "content": "Subtract from <inventory> what the <order> takes."},
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "eval", "arguments": "{...}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": 10}, ...]}

    parse_traces(lines)      (Trace(program="menu", model=..., run=0, blocks=(TracedBlock(...), ...)), ...)
    published(trace)      the same as a JSON object

A line is one run of one program, and each `user` message opens a block. There are two dialects: a tool call
is written as above, or as `{"id", "name", "args"}`, with answers that are JSON texts. Both are read; the first
is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from njrt.agent.tools import OPERATIONS
from njrt.effects import WireValue
from njrt.messages import Json, ToolCall
from njrt.options import EffectSet

NAME_PATTERN = re.compile(r"(?<!<)<:?([A-Za-z_]\w*)[^<>]*>")
INPUTS_PATTERN = re.compile(r"\n(?:---|Type and Value [^\n]*)(?:\n|$)")
"""What stands between a prompt and its inputs: ours, and theirs."""
EFFECT_SETS: tuple[EffectSet, ...] = (
    "nightjar",
    "direct",
    "shared-eval",
    "baseline",
    "isolated-eval",
)
ENDING_BY_CALL = {
    "done": "completed",
    "break": "broke",
    "continue": "continued",
    "return": "returned",
    "raise": "raised",
}


class TraceError(ValueError):
    """A file of traces has a line that is none."""


@dataclass(frozen=True, slots=True)
class TracedCall:
    """One tool call; `answers` holds what it was answered, and nothing where it ended the block."""

    call: ToolCall
    answers: tuple[WireValue, ...] = ()


@dataclass(frozen=True, slots=True)
class TracedReply:
    """One reply of the model: what it said and called."""

    calls: tuple[TracedCall, ...]
    text: str = ""


@dataclass(frozen=True, slots=True)
class TracedBlock:
    """One run of a block: what the model was shown first, and all that it replied."""

    opening: str
    replies: tuple[TracedReply, ...]

    @property
    def names(self) -> frozenset[str]:
        """The variables that the prompt refers to, as well as text alone can tell."""
        return find_prompt_names(self.opening)

    @property
    def ending(self) -> str | None:
        """How the block ended, by its last call; None where that does not tell."""
        last = self.replies[-1].calls[-1:]
        return next((find_call_ending(each.call) for each in last), None)


@dataclass(frozen=True, slots=True)
class Trace:
    """One run of a program by a model, block by block."""

    program: str
    model: str
    run: int
    blocks: tuple[TracedBlock, ...]

    @property
    def effects(self) -> EffectSet:
        """The effect set that has the tools which were called."""
        called = {
            each.call.name
            for block in self.blocks
            for reply in block.replies
            for each in reply.calls
        }
        return max(
            EFFECT_SETS, key=lambda name: len(called & {each.name for each in OPERATIONS[name]})
        )


def find_call_ending(call: ToolCall) -> str | None:
    """How a call ends its block; None where it does not, or in code. `goto` ends it as its label says."""
    label = str((call.arguments or {}).get("label"))
    return ENDING_BY_CALL.get(label if call.name == "goto" else call.name)


def find_prompt_names(opening: str) -> frozenset[str]:
    """The names between angle brackets in a prompt; of a dotted one the first part."""
    return frozenset(NAME_PATTERN.findall(INPUTS_PATTERN.split(opening)[0]))


def parse_traces(lines: Iterable[str]) -> Iterator[Trace]:
    """Read a file of traces; a `TraceError` names the line that is none."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield parse_trace(json.loads(line))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise TraceError(
                f"line {number} is no trace, a JSON object with file_name, run and a trace of chat "
                f"messages: {type(error).__name__}: {error}"
            ) from error


def parse_trace(written: Json) -> Trace:
    """Read one run of a program."""
    chat = written["trace"]
    starts = [at for at, message in enumerate(chat) if message["role"] == "user"]
    blocks = [parse_traced_block(chat[begin:end]) for begin, end in pairwise([*starts, len(chat)])]
    return Trace(
        str(written["file_name"]),
        str(written.get("model", "unknown")),
        int(written.get("run", 0)),
        tuple(block for block in blocks if block.replies),
    )


def parse_traced_block(chat: Sequence[Json]) -> TracedBlock:
    """Read the messages from one `user` to the next."""
    answers = {
        message.get("tool_call_id"): message["content"]
        for message in chat
        if message["role"] == "tool"
    }
    replies = [
        TracedReply(
            tuple(parse_served_calls(message.get("tool_calls") or (), answers)),
            parse_content_text(message.get("content")),
        )
        for message in chat
        if message["role"] == "assistant"
    ]
    return TracedBlock(str(chat[0]["content"]), tuple(replies))


def parse_content_text(content: WireValue) -> str:
    """The text of a message, whole or in parts."""
    match content:
        case str():
            return content
        case list():
            return "".join(part.get("text", "") for part in content if part.get("type") == "text")
        case _:
            return ""


def parse_served_calls(
    calls: Sequence[Json], answers: Mapping[str | None, WireValue]
) -> Iterator[TracedCall]:
    """The calls of a reply that were served: their implementation drops those behind the first."""
    for position, written in enumerate(calls):
        answer = (answers[written["id"]],) if written["id"] in answers else ()
        if answer or position == 0:
            yield TracedCall(parse_traced_call(written), answer)


def parse_traced_call(written: Json) -> ToolCall:
    """Read a tool call in either dialect; arguments that are no JSON object are kept as they are."""
    if "function" not in written:
        arguments: Any = written["args"]
        return ToolCall(written["id"], written["name"], arguments, json.dumps(arguments))
    raw = written["function"]["arguments"]
    try:
        arguments = json.loads(raw)
    except ValueError:
        arguments = None
    return ToolCall(
        written["id"],
        written["function"]["name"],
        arguments if isinstance(arguments, dict) else None,
        raw,
    )


def trace_to_json(trace: Trace) -> dict[str, Any]:
    """Write a trace as the authors do."""
    chat = [message for block in trace.blocks for message in make_chat_messages(block)]
    return {"file_name": trace.program, "model": trace.model, "run": trace.run, "trace": chat}


def make_chat_messages(block: TracedBlock) -> Iterator[dict[str, Any]]:
    """Write a block as the messages of a chat."""
    yield {"role": "user", "content": block.opening}
    for reply in block.replies:
        text = {"content": reply.text} if reply.text else {}
        calls = [
            {
                "id": each.call.id,
                "function": {"name": each.call.name, "arguments": each.call.raw},
                "type": "function",
            }
            for each in reply.calls
        ]
        yield {"role": "assistant", **text, "tool_calls": calls}
        for each in reply.calls:
            for answer in each.answers:
                yield {"role": "tool", "content": answer, "tool_call_id": each.call.id}
