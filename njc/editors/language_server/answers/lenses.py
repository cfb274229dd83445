"""The line above each block: what the last trace says of it, and that its recording can be run.

3 runs, 4 calls, 1,204 tokens, $0.0031          the runs of this block in the newest trace of the project
run on the recording                            where a recording of the project has the block
run cases                                       if `cases/FUNCTION.jsonl` exists beside the program
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from njc.editors.language_server.texts.documents import Document
from njc.frontend.blocks import NaturalBlock


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
    costs: Mapping[str, str],
    recorded: Collection[str],
    tested: Collection[str] = (),
) -> list[BlockLens]:
    """Return the lenses of a text; costs, as text, and recordings go by the place of a block, such as `mail.njpy:12`.

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
            lenses.append(BlockLens(block, cost))
    return lenses
