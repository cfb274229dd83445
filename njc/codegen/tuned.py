"""The choices that `njc tune` made for a block, as arguments of its call.

    [[tuned]] of njc.lock        tuned={"openai/local": {"reasoning": "text", "votes": 3}},
                                 examples=[("openai/local", "review: str = 'Great!'", '{"mood": "good"}')],

The prompt in the compiled file does not change, nor do options that the author set on the block or in the file.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from njc.frontend.blocks import NaturalBlock
from njrt.block import extract_instruction
from njrt.records import record

OptionValue = str | int | float


@record
class TunedBlock:
    """The choice for a block, identified by its instruction, and a model."""

    instruction: str
    model: str
    options: Mapping[str, OptionValue]
    examples: Sequence[tuple[str, str]] = ()
    """The values in correct runs, as shown to the model, and its replies."""


def extract_source_instruction(block: NaturalBlock) -> str:
    """Return a block's instruction from its source; an f-string keeps its braces."""
    if block.is_fstring:
        return extract_instruction(block.literal.strip("frFR").strip("\"'"))
    return extract_instruction(ast.literal_eval(block.literal))


def find_block_tuning(block: NaturalBlock, tuned: Sequence[TunedBlock]) -> list[TunedBlock]:
    """Return the choices for a block, one per model, in model order."""
    if not tuned:
        return []
    instruction = extract_source_instruction(block)
    found = {entry.model: entry for entry in tuned if entry.instruction == instruction}
    return [found[model] for model in sorted(found)]


def serialize_tuned(tuned: Sequence[TunedBlock]) -> str:
    """Return everything that these choices add to a compiled file, as one text; "" without choices."""
    entries = sorted(tuned, key=lambda entry: (entry.instruction, entry.model))
    return "\0".join(
        f"{entry.instruction}\0{entry.model}\0{sorted(entry.options.items())!a}\0{[*map(tuple, entry.examples)]!a}"
        for entry in entries
    )
