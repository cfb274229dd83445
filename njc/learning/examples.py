"""Recorded runs of a block as its lessons: which it has, which can be used, what their values were like.

    traces/shop.jsonl ─> [Example] ─> Lessons(shown=(...), held_out=(...), unusable=("`log` is a file", ...))

Runs that saw the same count once, by what most of them did: a live model may err. Of four lessons or more,
every third is held out: it counts, but is not shown to the model, so that code cannot be fitted to it.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from njc.static.holes import Gap
from njrt.session.examples import VALUE, Example, example_of
from njrt.values.shapes import ANYTHING, joined

MOST = 30
"""Lessons that are used of one block; they are taken evenly from all that there are."""
_FEWEST_TO_HOLD_OUT = 4
_TIMES_OF_DOING = ("completed", "broke", "continued", "returned", "raised")


@dataclass(frozen=True, slots=True)
class Lessons:
    """What code for a gap is held against."""

    shown: tuple[Example, ...] = ()
    held_out: tuple[Example, ...] = ()
    unusable: tuple[str, ...] = ()
    """Why some runs cannot be used, each reason once."""

    @property
    def all(self) -> tuple[Example, ...]:
        """The lessons, those that are shown first."""
        return (*self.shown, *self.held_out)


def examples_in(lines: Iterable[str]) -> Iterator[Example]:
    """Find the examples among the lines of a trace; a last line that is broken off is passed over."""
    for line in lines:
        if '"example"' in line:
            try:
                written = json.loads(line)
                if written.get("event") == "example":
                    yield example_of(written)
            except (ValueError, KeyError, TypeError, AttributeError):
                continue


def lessons_for(gap: Gap, examples: Iterable[Example]) -> Lessons:
    """Choose the lessons of a gap: runs of a block with just its instruction."""
    own = [each for each in examples if each.instruction == gap.instruction]
    unusable: dict[str, None] = {}
    usable = []
    for each in own:
        if problem := _problem(each, gap):
            unusable[problem] = None
        else:
            usable.append(each)
    chosen = _evenly(_agreed(usable), MOST)
    hold = len(chosen) >= _FEWEST_TO_HOLD_OUT
    return Lessons(
        tuple(each for at, each in enumerate(chosen) if not (hold and at % 3 == 2)),
        tuple(each for at, each in enumerate(chosen) if hold and at % 3 == 2),
        tuple(unusable),
    )


def _problem(example: Example, gap: Gap) -> str:
    """Why a run cannot be used, if so."""
    for name, what in example.lost.items():
        if name in inputs_of(gap) or name in gap.writes or name == VALUE:
            return f"`{name}` holds {what}"
    if example.outcome not in _TIMES_OF_DOING:
        return f"it ended as {example.outcome}"
    return ""


def inputs_of(gap: Gap) -> tuple[str, ...]:
    """The variables that the prompt reads."""
    read = (each.root for each in gap.block.references if not each.writes or each.dotted)
    return tuple(dict.fromkeys(read))


def _agreed(examples: Sequence[Example]) -> list[Example]:
    """Of runs that saw the same, the one that did what most of them did."""
    groups: defaultdict[str, list[Example]] = defaultdict(list)
    for each in examples:
        groups[json.dumps(each.before, sort_keys=True)].append(each)
    return [_usual(group) for group in groups.values()]


def _usual(group: Sequence[Example]) -> Example:
    done = Counter(map(_done, group))
    (most, _), *_ = done.most_common(1)
    return next(each for each in group if _done(each) == most)


def _done(example: Example) -> str:
    after = json.dumps(example.after, sort_keys=True)
    return f"{example.outcome} {example.value} {example.error} {after}"


def _evenly(examples: Sequence[Example], most: int) -> list[Example]:
    step = max(1.0, len(examples) / most)
    return [examples[int(at * step)] for at in range(min(len(examples), most))]


def shapes_seen(gap: Gap, examples: Sequence[Example]) -> Mapping[str, str]:
    """What the variables were like that a block finds bound, in all runs; those of any kind are left out."""
    seen = {}
    for name in dict.fromkeys((*inputs_of(gap), *sorted(gap.bound_before))):
        found = [each.shapes[name] for each in examples if name in each.shapes]
        shape = joined(found) if found and len(found) == len(examples) else ANYTHING
        if shape != ANYTHING:
            seen[name] = shape
    return seen
