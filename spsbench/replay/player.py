"""Replay a recorded trace as a program's model; note answers that differ from the recorded ones.

    replayer = TraceReplayer(trace)
    with njrt.using(model=replayer.model, **make_settings(trace.effects)):
        program.main()
    replayer.divergences     (Divergence(block=2, call="eval str(inventory)", ...), ...)

Each recorded reply is sent again, with its references and UUIDs translated, regardless of the
answers. Replies with only refused effects are left out; code that failed is sent, because part of
it may have run. A block takes the next recorded block with the same opening, else the next with the
same variables, else the next.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

from njrt.effects import WireValue
from njrt.errors import ModelError
from njrt.messages import ModelMessage, Protocol, Request, ToolMessage, UserMessage
from njrt.models.scripted import Scripted
from njrt.observability.accounts import RunAccount
from spsbench.replay.agreement import NameMap, compare_answers
from spsbench.replay.traces import Trace, TracedBlock, TracedCall, TracedReply, find_prompt_names

CODE_EFFECTS = frozenset({"exec", "eval", "run"})


@dataclass(frozen=True, slots=True)
class Divergence:
    """A recorded answer that differs from ours; `block` counts from 1."""

    block: int
    call: str
    recorded: str
    ours: str


class TraceReplayer:
    """The model that sends a trace's replies (state: remaining blocks, and those in progress)."""

    def __init__(self, trace: Trace) -> None:
        self.left = list(enumerate(trace.blocks, 1))
        self.playing: dict[int, BlockReplayer] = {}
        self.played: list[BlockReplayer] = []
        self.unanswered = 0
        replies = [reply for block in trace.blocks for reply in block.replies]
        protocol: Protocol = "tools" if any(reply.calls for reply in replies) else "text"
        self.model = Scripted(self.reply, name=trace.model, protocol=protocol)

    def reply(self, request: Request) -> ModelMessage:
        """Send the recorded reply at this point of the trace."""
        opening = request.messages[0]
        assert isinstance(opening, UserMessage)
        if request.turn == 1:
            if not self.left:
                self.unanswered += 1
                raise ModelError(f"the trace has no block left for {request.place}")
            number, block = self.left.pop(self.find_nearest(opening.text))
            # The opening is the same object in all requests of a run, and we keep it alive.
            self.playing[id(opening)] = BlockReplayer(number, block, opening)
            self.played.append(self.playing[id(opening)])
        return self.playing[id(opening)].reply(request)

    def find_nearest(self, opening: str) -> int:
        """Return the position in `left` of the recorded block for a block with this opening."""
        blocks = [block for _, block in self.left]
        equal = [at for at, block in enumerate(blocks) if block.opening == opening]
        known = find_prompt_names(opening)
        alike = [at for at, block in enumerate(blocks) if block.names and block.names <= known]
        return [*equal, *alike, 0][0]

    @property
    def divergences(self) -> tuple[Divergence, ...]:
        found = [divergence for block in self.played for divergence in block.list_divergences()]
        if self.unanswered:
            last, more = len(self.played), f"({self.unanswered} more blocks)"
            found.append(Divergence(last + 1, "the program", "(no more blocks)", more))
        return tuple(sorted(found, key=lambda divergence: divergence.block))

    def count_same_endings(self, runs: Iterable[RunAccount]) -> int:
        """Return how many blocks of the program's `runs` ended as recorded, as far as known."""
        outcomes = {id(run.calls[0].request.messages[0]): run.outcome for run in runs if run.calls}
        endings = [(outcomes.get(id(block.opening)), block.block.ending) for block in self.played]
        return sum(here != "failed" and there in (here, None) for here, there in endings)


class BlockReplayer:
    """A block in progress (state: how many replies were sent, and the divergences so far)."""

    def __init__(self, number: int, block: TracedBlock, opening: UserMessage) -> None:
        self.number = number
        self.block = block
        self.replies = [reply for reply in block.replies if not was_refused(reply)]
        self.opening = opening
        self.names = NameMap()
        self.sent = 0
        self.compared = self.agreed = 0
        self.found: list[Divergence] = []

    def reply(self, request: Request) -> ModelMessage:
        """Compare our answers to the last reply, and send the next one."""
        replies = self.replies
        if self.sent:
            self.compare_reply(replies[self.sent - 1], request)
        if self.sent == len(replies):
            last = request.messages[-1]
            ours = last.results[-1].text if isinstance(last, ToolMessage) else "(asked again)"
            last_calls = replies[-1].calls[-1:] if replies else ()
            self.add_divergence(last_calls, "(the block ends)", ours)
            raise ModelError(f"the trace ends here, but {request.place} asks on")
        reply = replies[self.sent]
        self.sent += 1
        calls = [traced.call for traced in reply.calls]
        for position, call in enumerate(calls):
            if call.arguments is not None:
                arguments = self.names.translate(call.arguments)
                calls[position] = replace(call, arguments=arguments, raw=json.dumps(arguments))
        return ModelMessage(reply.text, tuple(calls))

    def compare_reply(self, reply: TracedReply, request: Request) -> None:
        """Compare our answers to a reply with the recorded ones."""
        last = request.messages[-1]
        results = last.results if isinstance(last, ToolMessage) else ()
        for traced, ours in zip(reply.calls, results, strict=False):
            for recorded in traced.answers:
                self.compared += 1
                if compare_answers(recorded, ours.text, ours.failed, self.names):
                    self.agreed += 1
                else:
                    self.add_divergence((traced,), format_recorded_value(recorded), ours.text)
            if not traced.answers:
                self.add_divergence((traced,), "(the block ends)", ours.text)

    def add_divergence(self, calls: tuple[TracedCall, ...], recorded: str, ours: str) -> None:
        """Record a divergence, unless there is an equal one."""
        divergence = Divergence(self.number, format_calls(calls), recorded, ours)
        if divergence not in self.found:
            self.found.append(divergence)

    def list_divergences(self) -> list[Divergence]:
        """Return the divergences, including the ending if the block ended earlier than recorded."""
        unsent = len(self.replies) - self.sent
        if not unsent:
            return self.found
        text = format_calls(self.replies[self.sent - 1].calls[-1:])
        goes_on = f"(the block continues for {unsent} replies)"
        return [*self.found, Divergence(self.number, text, goes_on, "(the block ends)")]


def was_refused(reply: TracedReply) -> bool:
    """Return whether all effects in a reply were refused and so changed nothing; False for code."""
    return bool(reply.calls) and all(
        traced.is_failed and traced.call.name not in CODE_EFFECTS for traced in reply.calls
    )


def format_calls(calls: Iterable[TracedCall]) -> str:
    """Return calls on one line."""
    texts = []
    for call in (traced.call for traced in calls):
        known = (
            None if call.arguments is None else map(format_recorded_value, call.arguments.values())
        )
        texts.append(" ".join([call.name, *([call.raw] if known is None else known)]))
    return ", ".join(texts)


def format_recorded_value(wire: WireValue) -> str:
    """Return a JSON value as text; strings have no quotes."""
    return wire if isinstance(wire, str) else json.dumps(wire, ensure_ascii=False)
