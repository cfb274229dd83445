"""The line above each block: what the last trace says of it, and that its recording can be run.

3 runs, 4 calls, 1,204 tokens, $0.0031          the runs of this block in the newest trace of the project
run on the recording                            where a recording of the project has the block
run cases                                       if `cases/FUNCTION.jsonl` exists beside the program
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from njc.editors.language_server.texts.documents import Document
from njc.frontend.blocks import NaturalBlock


@dataclass(frozen=True, slots=True)
class BlockCost:
    """What the runs of a block in a trace took; `usd` is None if no price is known."""

    runs: int = 0
    calls: int = 0
    tokens: int = 0
    usd: float | None = None
    seconds: float = 0.0
    failures: int = 0


@dataclass(frozen=True, slots=True)
class BlockLens:
    """A title above a block; a click runs the program on its recording (`runs_recording`), or the cases of a function."""

    block: NaturalBlock
    title: str
    runs_recording: bool = False
    cases_of: str = ""
    """The function to run the cases of."""


def list_lenses(
    document: Document,
    costs: Mapping[str, BlockCost],
    recorded: Collection[str],
    tested: Collection[str] = (),
) -> list[BlockLens]:
    """Return the lenses of a text; costs and recordings go by the place of a block, such as `mail.njpy:12`.

    `tested` are the functions with cases.
    """
    reading = document.reading
    lenses: list[BlockLens] = []
    for block in reading.blocks if reading is not None else ():
        place = f"{document.path}:{block.line}"
        if place in recorded:
            lenses.append(BlockLens(block, "run on the recording", True))
        scope = block.scope
        is_top = scope.parent is not None and scope.parent.kind == "module"
        if is_top and scope.is_function and scope.name in tested:
            lenses.append(BlockLens(block, "run cases", cases_of=scope.name))
        if cost := costs.get(place):
            lenses.append(BlockLens(block, format_cost(cost)))
    return lenses


def format_cost(cost: BlockCost) -> str:
    """`3 runs, 4 calls, 1,204 tokens, $0.0031`."""
    parts = [_count(cost.runs, "run"), _count(cost.calls, "call"), f"{cost.tokens:,} tokens"]
    if cost.usd is not None:
        parts.append(f"${cost.usd:.4f}")
    if cost.failures:
        parts.append(_count(cost.failures, "error"))
    return ", ".join(parts)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def add_costs(costs: Iterable[BlockCost]) -> BlockCost:
    """Return the sum of costs; its price is that of those whose price is known."""
    found = list(costs)
    known = [cost.usd for cost in found if cost.usd is not None]
    return BlockCost(
        sum(cost.runs for cost in found),
        sum(cost.calls for cost in found),
        sum(cost.tokens for cost in found),
        sum(known) if known else None,
        sum(cost.seconds for cost in found),
        sum(cost.failures for cost in found),
    )
