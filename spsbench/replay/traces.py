"""Agent traces, in the format published by Nightjar's authors.

    {"file_name": "menu", "model": "openai/gpt-4.1", "run": 0, "trace": [
        {"role": "user", "content": "Subtract from <inventory> what the <order> takes."},
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "eval", ...}}]},
        {"role": "tool", "tool_call_id": "c1", "content": 10}, ...]}

    parse_traces(lines)        Trace(program="menu", model=..., run=0, blocks=(...)), ...
    parse_evaluations(lines)   {("menu", 0): {"test_sushi": True, ...}, ...}, from results files

Each line is one run of a program, and each `user` message starts a block. There are two dialects: a
tool call is written as above, or as `{"id", "name", "args"}` with answers as JSON texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from njrt.effects import WireValue
from njrt.messages import Json, ToolCall
from spsbench.interfaces import INTERFACES, EffectSet
from spsbench.results import parse_json_lines

NAME_PATTERN = re.compile(r"(?<!<)<:?([A-Za-z_]\w*)[^<>]*>")
INPUTS_PATTERN = re.compile(r"\n(?:---|Type and Value [^\n]*)(?:\n|$)")
"""The separator between a prompt and its inputs: ours, and theirs."""
EFFECT_SETS: tuple[EffectSet, ...] = (
    *("nightjar", "direct", "shared-eval", "baseline", "isolated-eval"),
)
ENDING_BY_CALL = {
    "done": "completed",
    "break": "broke",
    "continue": "continued",
    "return": "returned",
    "raise": "raised",
}


PROGRAM_RENAMES = {
    "calendar_tool": "calendar",
    "mask_sensitive_information": "mask_sensitive_info",
}
"""Published program names, and ours. Published files use both."""

CheckOutcomes = Mapping[str, bool]
RunKey = tuple[str, int]
"""Our name for a program, and the number of the run."""


@dataclass(frozen=True, slots=True)
class TracedCall:
    """One tool call and its answer; a call that ended the block has none."""

    call: ToolCall
    answers: tuple[WireValue, ...] = ()

    @property
    def is_failed(self) -> bool:
        """Whether the answer to the call is an error, as worded by nightjarpy."""
        return any(isinstance(each, str) and each.startswith("Error") for each in self.answers)


@dataclass(frozen=True, slots=True)
class TracedReply:
    """One reply of the model."""

    calls: tuple[TracedCall, ...]
    text: str = ""


@dataclass(frozen=True, slots=True)
class TracedBlock:
    """One run of a block: the first message to the model, and all of its replies."""

    opening: str
    replies: tuple[TracedReply, ...]

    @property
    def names(self) -> frozenset[str]:
        """The variables that the prompt refers to, as far as its text shows."""
        return find_prompt_names(self.opening)

    @property
    def ending(self) -> str | None:
        """How the block ended, by its last call; None if the call does not show it."""
        for call in (traced.call for traced in self.replies[-1].calls[-1:]):
            label = str((call.arguments or {}).get("label"))
            return ENDING_BY_CALL.get(label if call.name == "goto" else call.name)
        return None


@dataclass(frozen=True, slots=True)
class Trace:
    """One run of a program by a model."""

    program: str
    model: str
    run: int
    blocks: tuple[TracedBlock, ...]

    @property
    def key(self) -> RunKey:
        """The key that identifies the run within a file."""
        return PROGRAM_RENAMES.get(self.program, self.program), self.run

    @property
    def effects(self) -> EffectSet:
        """The effect set that contains most of the called tools."""
        called = {
            traced.call.name
            for block in self.blocks
            for reply in block.replies
            for traced in reply.calls
        }
        known = {name: set(list_calls(name)) for name in EFFECT_SETS}
        return max(EFFECT_SETS, key=lambda name: len(called & known[name]))


def list_calls(effects: EffectSet) -> list[str]:
    """Return the names of the calls of an effect set."""
    if effects == "direct":
        return ["run"]
    return [name for name, _ in INTERFACES[effects].list_effects()]


def find_prompt_names(opening: str) -> frozenset[str]:
    """Return the names in angle brackets in a prompt; only the first part of a dotted name."""
    return frozenset(NAME_PATTERN.findall(INPUTS_PATTERN.split(opening)[0]))


def list_program_names(name: str) -> list[str]:
    """Return all names of a program, the given name first."""
    ours = PROGRAM_RENAMES.get(name, name)
    return [name, ours, *(theirs for theirs, known in PROGRAM_RENAMES.items() if known == ours)]


def parse_evaluations(lines: Iterable[str]) -> dict[RunKey, CheckOutcomes]:
    """Read a published results file: each run's check outcomes; the last line of a run counts."""

    def parse(number: int, written: Json) -> tuple[RunKey, CheckOutcomes]:
        name, checks = str(written["file_name"]), dict(written["hard_eval"])
        return (PROGRAM_RENAMES.get(name, name), int(written["run"])), checks

    expected = "not an evaluation, a JSON object with file_name, run and hard_eval"
    return dict(parse_json_lines(lines, parse, expected))


def parse_traces(lines: Iterable[str]) -> Iterator[Trace]:
    """Read a file of traces; `InputError` names a line that cannot be read."""
    expected = "not a trace, a JSON object with file_name, run and a trace of chat messages"
    return parse_json_lines(lines, lambda number, written: parse_trace(written), expected)


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
    answers = {each.get("tool_call_id"): each["content"] for each in chat if each["role"] == "tool"}
    replies = []
    for message in chat:
        if message["role"] == "assistant":
            calls = []
            for position, written in enumerate(message.get("tool_calls") or ()):
                answer = (answers[written["id"]],) if written["id"] in answers else ()
                if answer or position == 0:  # nightjarpy drops the calls after the first
                    calls.append(TracedCall(parse_traced_call(written), answer))
            replies.append(TracedReply(tuple(calls), parse_content_text(message.get("content"))))
    return TracedBlock(str(chat[0]["content"]), tuple(replies))


def parse_content_text(content: WireValue) -> str:
    """Return the text of a message, whether stored whole or in parts."""
    match content:
        case str():
            return content
        case list():
            return "".join(part.get("text", "") for part in content if part.get("type") == "text")
        case _:
            return ""


def parse_traced_call(written: Json) -> ToolCall:
    """Read a tool call in either dialect; arguments that are not a JSON object are kept as text."""
    if "function" not in written:
        arguments: Any = written["args"]
        return ToolCall(written["id"], written["name"], arguments, json.dumps(arguments))
    name, raw = written["function"]["name"], written["function"]["arguments"]
    try:
        arguments = json.loads(raw)
    except ValueError:
        arguments = None
    known = arguments if isinstance(arguments, dict) else None
    return ToolCall(written["id"], name, known, raw)
