"""The recorded runs of a block: those that can be used, and the shapes of their values.

    traces/shop.jsonl ─> [Example] ─> ExampleSet(shown=(...), held_out=(...), unusable=("`log` is a file", ...))

Runs with equal inputs count once, with the most frequent outcome, as a live model may be wrong. Of four examples or
more, every third is held out: it is scored, but not shown to the model, so that code cannot be fitted to it.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from njc.static.holes import Hole
from njrt.session.examples import RETURN_VALUE, Example, example_from_json
from njrt.values.shapes import ANY_SHAPE, merge_shapes

MAX_EXAMPLES = 30
"""Examples that are used of one block, taken evenly from all of them."""
_MIN_TO_HOLD_OUT = 4
_USABLE_OUTCOMES = ("completed", "broke", "continued", "returned", "raised")


@dataclass(frozen=True, slots=True)
class ExampleSet:
    """The examples that code for a hole is tested on."""

    shown: tuple[Example, ...] = ()
    held_out: tuple[Example, ...] = ()
    unusable: tuple[str, ...] = ()
    """Why some runs cannot be used, each reason once."""

    @property
    def all(self) -> tuple[Example, ...]:
        """All examples, those that are shown first."""
        return (*self.shown, *self.held_out)


def parse_examples(lines: Iterable[str]) -> Iterator[Example]:
    """Find the examples among the lines of a trace; an incomplete last line is ignored."""
    for line in lines:
        if '"example"' in line:
            try:
                written = json.loads(line)
                if written.get("event") == "example":
                    yield example_from_json(written)
            except (ValueError, KeyError, TypeError, AttributeError):
                continue


def select_examples(hole: Hole, examples: Iterable[Example]) -> ExampleSet:
    """Choose the examples of a hole: runs of a block with the same instruction."""
    own = [example for example in examples if example.instruction == hole.instruction]
    unusable: dict[str, None] = {}
    usable = []
    for example in own:
        if problem := _find_problem(example, hole):
            unusable[problem] = None
        else:
            usable.append(example)
    chosen = _sample_evenly(_merge_by_majority(usable), MAX_EXAMPLES)
    hold = len(chosen) >= _MIN_TO_HOLD_OUT
    return ExampleSet(
        tuple(example for at, example in enumerate(chosen) if not (hold and at % 3 == 2)),
        tuple(example for at, example in enumerate(chosen) if hold and at % 3 == 2),
        tuple(unusable),
    )


def _find_problem(example: Example, hole: Hole) -> str:
    """Why a run cannot be used, if so."""
    for name, what in example.lost.items():
        if name in list_hole_inputs(hole) or name in hole.writes or name == RETURN_VALUE:
            return f"`{name}` holds {what}"
    if example.outcome not in _USABLE_OUTCOMES:
        return f"it ended as {example.outcome}"
    return ""


def list_hole_inputs(hole: Hole) -> tuple[str, ...]:
    """Return the variables that the prompt reads."""
    read = (
        reference.root
        for reference in hole.block.references
        if not reference.writes or reference.is_dotted
    )
    return tuple(dict.fromkeys(read))


def _merge_by_majority(examples: Sequence[Example]) -> list[Example]:
    """One run of each group with equal inputs: one with the most frequent outcome."""
    groups: defaultdict[str, list[Example]] = defaultdict(list)
    for example in examples:
        groups[json.dumps(example.before, sort_keys=True)].append(example)
    return [_pick_most_common(group) for group in groups.values()]


def _pick_most_common(group: Sequence[Example]) -> Example:
    done = Counter(map(_make_outcome_key, group))
    (most, _), *_ = done.most_common(1)
    return next(example for example in group if _make_outcome_key(example) == most)


def _make_outcome_key(example: Example) -> str:
    after = json.dumps(example.after, sort_keys=True)
    return f"{example.outcome} {example.value} {example.error} {after}"


def _sample_evenly(examples: Sequence[Example], most: int) -> list[Example]:
    step = max(1.0, len(examples) / most)
    return [examples[int(at * step)] for at in range(min(len(examples), most))]


def find_observed_shapes(hole: Hole, examples: Sequence[Example]) -> Mapping[str, str]:
    """Return the shapes, in all runs, of the variables that are bound before the block; `object` is left out."""
    seen = {}
    for name in dict.fromkeys((*list_hole_inputs(hole), *sorted(hole.bound_before))):
        found = [example.shapes[name] for example in examples if name in example.shapes]
        shape = merge_shapes(found) if found and len(found) == len(examples) else ANY_SHAPE
        if shape != ANY_SHAPE:
            seen[name] = shape
    return seen
