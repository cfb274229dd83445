"""Plays a recorded trace as the model of a program, and notes where our answers differ from the recorded.

    player = Player(trace)
    with njrt.using(model=player.model, effects=trace.effects):
        program.main()
    player.divergences     (Divergence(block=2, call="eval str(inventory)", recorded=..., ours=...), ...)

Each recorded reply is said again, with references translated, whatever came of the one before. A block of
the program takes the next recorded block with the same opening, or else the same variables, or else the next.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

from njrt.effects import WireValue
from njrt.errors import ModelError
from njrt.messages import (
    ModelMessage,
    Protocol,
    Request,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from njrt.models.scripted import Scripted
from njrt.observability.accounts import BlockRun
from spsbench.replay.agreement import AddressMap, is_equivalent_answer
from spsbench.replay.traces import Trace, TracedBlock, TracedCall, TracedReply, find_prompt_names


@dataclass(frozen=True, slots=True)
class Divergence:
    """A place where a recorded answer and ours are not the same; `block` counts from 1."""

    block: int
    call: str
    recorded: str
    ours: str


class TraceReplayer:
    """The model that a trace makes (state: the blocks that are left, those that are being played, those that were missed)."""

    def __init__(self, trace: Trace) -> None:
        self.left = list(enumerate(trace.blocks, 1))
        self.playing: dict[int, BlockReplayer] = {}
        self.played: list[BlockReplayer] = []
        self.unanswered = 0
        replies = [reply for block in trace.blocks for reply in block.replies]
        protocol: Protocol = "tools" if any(reply.calls for reply in replies) else "text"
        self.model = Scripted(self.reply, name=trace.model, protocol=protocol)

    def reply(self, request: Request) -> ModelMessage:
        """Say what the model said at this point of the trace."""
        opening = request.messages[0]
        assert isinstance(opening, UserMessage)
        if request.turn == 1:
            if not self.left:
                self.unanswered += 1
                raise ModelError(f"the trace has no block left for {request.place}")
            number, block = self.left.pop(self.find_nearest(opening.text))
            # The opening is the same object in all requests of a run, and lives as long as we hold it.
            self.playing[id(opening)] = BlockReplayer(number, block, opening)
            self.played.append(self.playing[id(opening)])
        return self.playing[id(opening)].reply(request)

    def find_nearest(self, opening: str) -> int:
        """Which of the blocks that are left a block with this opening plays."""
        blocks = [block for _, block in self.left]
        equal = [at for at, block in enumerate(blocks) if block.opening == opening]
        known = find_prompt_names(opening)
        alike = [at for at, block in enumerate(blocks) if block.names and block.names <= known]
        return [*equal, *alike, 0][0]

    @property
    def divergences(self) -> tuple[Divergence, ...]:
        """All divergences in the order of the trace."""
        found = [each for playing in self.played for each in playing.divergences()]
        if self.unanswered:
            last, more = len(self.played), f"({self.unanswered} more blocks)"
            found.append(Divergence(last + 1, "the program", "(no more blocks)", more))
        return tuple(sorted(found, key=lambda each: each.block))

    def ended_alike(self, runs: Iterable[BlockRun]) -> int:
        """How many blocks ended as recorded, as far as that is told; `runs` are the program's accounts."""
        outcomes = {id(run.calls[0].request.messages[0]): run.outcome for run in runs if run.calls}
        endings = [(outcomes.get(id(each.opening)), each.block.ending) for each in self.played]
        return sum(here != "failed" and there in (here, None) for here, there in endings)

    @property
    def compared(self) -> int:
        """How many answers were recorded and given here, too."""
        return sum(playing.compared for playing in self.played)

    @property
    def agreed(self) -> int:
        """How many of those say the same."""
        return sum(playing.agreed for playing in self.played)


class BlockReplayer:
    """One block that is being played (state: how many of its replies were said, what was found)."""

    def __init__(self, number: int, block: TracedBlock, opening: UserMessage) -> None:
        self.number = number
        self.block = block
        self.opening = opening
        self.addresses = AddressMap()
        self.said = 0
        self.compared = self.agreed = 0
        self.found: list[Divergence] = []

    def reply(self, request: Request) -> ModelMessage:
        """Compare what we answered to the last reply, and say the next one."""
        replies = self.block.replies
        if self.said:
            self.compare_reply(replies[self.said - 1], request)
        if self.said == len(replies):
            last = request.messages[-1]
            ours = last.results[-1].text if isinstance(last, ToolMessage) else "(asked again)"
            self.note(replies[-1].calls[-1:], "(the block ends)", ours)
            raise ModelError(f"the trace ends here, but {request.place} asks on")
        self.said += 1
        reply = replies[self.said - 1]
        return ModelMessage(reply.text, tuple(self.translated(each.call) for each in reply.calls))

    def translated(self, call: ToolCall) -> ToolCall:
        """A recorded call with the references of this run."""
        if call.arguments is None:
            return call
        arguments = self.addresses.translated(call.arguments)
        return replace(call, arguments=arguments, raw=json.dumps(arguments))

    def compare_reply(self, reply: TracedReply, request: Request) -> None:
        """Hold our answers to a reply against the recorded ones."""
        last = request.messages[-1]
        results = last.results if isinstance(last, ToolMessage) else ()
        for each, ours in zip(reply.calls, results, strict=False):
            for recorded in each.answers:
                self.compare_answer(each, recorded, ours)
            if not each.answers:
                self.note((each,), "(the block ends)", ours.text)

    def compare_answer(self, each: TracedCall, recorded: WireValue, ours: ToolResult) -> None:
        """Hold one answer against the recorded one."""
        self.compared += 1
        if is_equivalent_answer(recorded, ours.text, ours.failed, self.addresses):
            self.agreed += 1
        else:
            self.note((each,), format_recorded_value(recorded), ours.text)

    def note(self, calls: tuple[TracedCall, ...], recorded: str, ours: str) -> None:
        """Keep a divergence, unless that very one stands there already."""
        said = ", ".join(format_tool_call(each.call) for each in calls)
        divergence = Divergence(self.number, said, recorded, ours)
        if divergence not in self.found:
            self.found.append(divergence)

    def divergences(self) -> list[Divergence]:
        """What differs, and last that the block ended earlier than the recorded one, if it did."""
        unsaid = len(self.block.replies) - self.said
        if not unsaid:
            return self.found
        after = self.block.replies[self.said - 1].calls[-1:]
        said = ", ".join(format_tool_call(each.call) for each in after)
        goes_on = f"(the block goes on for {unsaid} replies)"
        return [*self.found, Divergence(self.number, said, goes_on, "(the block ends)")]


def format_tool_call(call: ToolCall) -> str:
    """A call on one line, for people."""
    arguments = (
        [call.raw]
        if call.arguments is None
        else [format_recorded_value(each) for each in call.arguments.values()]
    )
    return " ".join([call.name, *arguments])


def format_recorded_value(wire: WireValue) -> str:
    """A JSON value for people: a text as it stands."""
    return wire if isinstance(wire, str) else json.dumps(wire, ensure_ascii=False)
