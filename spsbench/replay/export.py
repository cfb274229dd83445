"""Our own runs, in the format in which Nightjar's authors publish theirs.

    NJC_TRACE=trace.jsonl njc run mail.njpy
    spsbench replay --export trace.jsonl > traces.jsonl       and back: spsbench replay traces.jsonl

    build_traces(lines)     (Trace(program="mail", model="gpt-4.1", run=0, blocks=...), ...)

A trace file of njrt holds events, those of blocks that ran side by side in a jumble; a published trace holds
the blocks of one program one after the other, in the order in which they began. `menu/natural.njpy:12` is a
block of the program `menu`, `mail.njpy:12` of `mail`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from njrt.message_json import reply_from_json
from spsbench.replay.traces import Trace, TracedBlock, TracedCall, TracedReply, TraceError

TraceEvent = Mapping[str, Any]


@dataclass(slots=True)
class PartialBlock:
    """A run of a block, as far as the events have told it."""

    program: str
    model: str
    opening: str | None = None
    replies: list[TracedReply] = field(default_factory=list)
    answers: list[list[tuple[str, ...]]] = field(default_factory=list)
    """For each reply the answers to its calls; an outcome is no answer."""

    def block(self) -> TracedBlock:
        """The run as it is published."""
        answered = [
            TracedReply(
                tuple(
                    TracedCall(each.call, answer)
                    for each, answer in zip(reply.calls, answers, strict=False)
                ),
                reply.text,
            )
            for reply, answers in zip(self.replies, self.answers, strict=True)
        ]
        return TracedBlock(self.opening or "", tuple(answered))


def build_traces(lines: Iterable[str]) -> tuple[Trace, ...]:
    """Read a trace file of njrt; one trace for each program and model in it."""
    begun: dict[str, PartialBlock] = {}
    for number, line in enumerate(lines, 1):
        try:
            add_event(json.loads(line), begun)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise TraceError(
                f"line {number} is no event of a trace file: {type(error).__name__}: {error}"
            ) from error
    programs: dict[tuple[str, str], list[TracedBlock]] = {}
    for each in begun.values():
        if each.replies:
            programs.setdefault((each.program, each.model), []).append(each.block())
    return tuple(
        Trace(program, model, 0, tuple(blocks)) for (program, model), blocks in programs.items()
    )


def add_event(event: TraceEvent, begun: dict[str, PartialBlock]) -> None:
    """Add what one event tells to the run that it belongs to."""
    run = event["run"]
    match event["event"]:
        case "began":
            begun[run] = PartialBlock(parse_program_name(event["place"]), event["model"])
        case "asked" if event["turn"] == 1:
            begun[run].opening = "\n".join(event["shown"][0]["user"])
        case "replied":
            message = reply_from_json(event["reply"], event["model"]).message
            calls = tuple(TracedCall(call) for call in message.calls)
            begun[run].replies.append(TracedReply(calls, message.text))
            begun[run].answers.append([])
        case "performed":
            answer = () if event["kind"] == "outcome" else (event["result"],)
            begun[run].answers[-1].append(answer)


def parse_program_name(place: str) -> str:
    """The program that a block belongs to, by its place."""
    *folders, file = place.rpartition(":")[0].split("/")
    stem = file.partition(".")[0]
    return folders[-1] if folders and stem == "natural" else stem
