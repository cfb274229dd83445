"""Our own runs, in the format of the traces published by Nightjar's authors.

    NJC_TRACE=trace.jsonl njc run mail.njpy
    spsbench replay --export trace.jsonl > traces.jsonl       and back: spsbench replay traces.jsonl

    build_traces(lines)     (Trace(program="mail", model="gpt-4.1", run=0, blocks=...), ...)

A trace file of njrt contains events, interleaved for concurrent blocks; a published trace contains the blocks of one
program in sequence, in the order of their starts. The block `menu/natural.njpy:12` belongs to the program `menu`, and
`mail.njpy:12` to `mail`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from njc.trace_lines import (
    AskedLine,
    BeganLine,
    EventLine,
    PerformedLine,
    RepliedLine,
    UnreadableLine,
    parse_trace_line,
)
from njrt.dataclass_json import InvalidJsonError
from njrt.message_json import reply_from_json
from spsbench.replay.traces import Trace, TracedBlock, TracedCall, TracedReply
from spsbench.results import group_by, parse_json_lines


@dataclass(slots=True)
class PartialBlock:
    """A run of a block (state: its events so far)."""

    program: str
    model: str
    opening: str = ""
    replies: list[TracedReply] = field(default_factory=list)
    answers: list[list[tuple[str, ...]]] = field(default_factory=list)
    """The answers to the calls in each reply; an outcome is not an answer."""

    def build_block(self) -> TracedBlock:
        """Return the run in the published format."""
        answered = []
        for reply, answers in zip(self.replies, self.answers, strict=True):
            pairs = zip(reply.calls, answers, strict=False)
            calls = tuple(TracedCall(traced.call, answer) for traced, answer in pairs)
            answered.append(TracedReply(calls, reply.text))
        return TracedBlock(self.opening, tuple(answered))


def build_traces(lines: Iterable[str]) -> tuple[Trace, ...]:
    """Read a trace file of njrt, and return one trace for each program and model in it."""
    blocks: dict[str, PartialBlock] = {}

    def add(number: int, text: str) -> None:
        line = parse_trace_line(text.encode(), number)
        if isinstance(line, UnreadableLine):
            raise InvalidJsonError(line.problem)
        if line is not None:
            add_line(line, blocks)

    list(parse_json_lines(lines, add, "not an event of a trace file", load=str))
    answered = (block for block in blocks.values() if block.replies)
    programs = group_by(answered, lambda block: (block.program, block.model))
    return tuple(
        Trace(*key, 0, tuple(block.build_block() for block in group))
        for key, group in programs.items()
    )


def add_line(line: EventLine, blocks: dict[str, PartialBlock]) -> None:
    """Add a line of a trace to its run."""
    match line:
        case BeganLine():
            blocks[line.run] = PartialBlock(parse_program_name(line.place), line.model)
        case AskedLine(turn=1, shown=[{"user": opening}, *_]):
            blocks[line.run].opening = "\n".join(opening)
        case RepliedLine():
            message = reply_from_json(line.reply, line.model).message
            calls = tuple(TracedCall(call) for call in message.calls)
            blocks[line.run].replies.append(TracedReply(calls, message.text))
            blocks[line.run].answers.append([])
        case PerformedLine():
            answer = () if line.kind == "outcome" else (line.result,)
            blocks[line.run].answers[-1].append(answer)


def parse_program_name(place: str) -> str:
    """Return the program that the block at a place belongs to."""
    *folders, file = place.rpartition(":")[0].split("/")
    stem = file.partition(".")[0]
    return folders[-1] if folders and stem == "natural" else stem
