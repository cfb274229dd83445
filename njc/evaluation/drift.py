"""Comparing block runs in two traces: the model's effects, and the outcomes of the blocks.

    read_runs(lines)                 [TracedRun(place="mail.njpy:12", shown="...", effects=(...), outcome="...")]
    compare_runs(old, new)           [ComparedBlock(place="mail.njpy:12", runs=3, same_effects=2, same_outcome=3, ...)]

Runs with the same block and the same messages are paired; the others are paired by block, in order. Code is compared
without its layout, JSON without its key order. A block's outcome includes the digest of its variables; the outcome of
an `njrt.llm` question is its last reply. Not detected: changes made by code elsewhere.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from njc.evaluation.repair.loop import normalize_layout
from njc.trace_lines import AskedLine, BeganLine, EndedLine, RepliedLine, TraceLine
from njrt.models.retry_and_fallback import extract_json
from njrt.records import record
from njrt.rendering.writer import clip

MAX_SHOWN_CHARS, CHARS_BEFORE = 200, 40


@record
class TracedRun:
    """One run of a block: the first messages to the model, the effects that it requested, and the outcome."""

    place: str
    shown: str
    effects: tuple[str, ...]
    outcome: str


@record
class RunDifference:
    """A pair of runs that differ; None: there is no such run on this side."""

    old: TracedRun | None
    new: TracedRun | None


@record
class ComparedBlock:
    """How the runs of one block compare."""

    place: str
    runs: int
    same_effects: int
    same_outcome: int
    differences: tuple[RunDifference, ...]


@dataclass(slots=True)
class _OpenTrace:
    place: str
    shown: str = ""
    effects: list[str] = field(default_factory=list)
    last_text: str = ""


def read_runs(lines: Iterable[TraceLine]) -> list[TracedRun]:
    """Return the finished runs of blocks that asked a model, in the order of their ends."""
    opened: dict[str, _OpenTrace] = {}
    runs = []
    for line in lines:
        match line:
            case BeganLine(run=run, place=place):
                opened[run] = _OpenTrace(place or "njrt.llm")
            case AskedLine(run=run, turn=1, shown=shown) if run in opened:
                opened[run].shown = json.dumps(shown, sort_keys=True)
            case RepliedLine(run=run, reply=reply) if run in opened:
                opened[run].effects += describe_reply(reply)
                opened[run].last_text = "\n".join(reply.get("text", ())).strip()
            case EndedLine(run=run) if run in opened and (ended := opened.pop(run)).effects:
                ending = f"{line.outcome}: {line.error}" if line.error else line.outcome
                outcome = f"{ending} [{line.digest[:40] or ended.last_text}]"
                runs.append(TracedRun(ended.place, ended.shown, tuple(ended.effects), outcome))
    return runs


def describe_reply(reply: Mapping[str, Any]) -> list[str]:
    """Return the effects that a reply requests, each as a text that is the same for equal effects."""
    described = []
    text = "\n".join(reply.get("text", ())).strip()
    calls = reply.get("calls", ())
    if text and not calls:
        described.append(_normalize_text(text))
    for call in calls:
        code = "\n".join(call.get("code", ()))
        arguments = json.dumps(call.get("arguments", {}), sort_keys=True, ensure_ascii=False)
        shown = _normalize_code(code) if code else call.get("raw") or ""
        described.append(
            " ".join(filter(None, [call["name"], shown, arguments if arguments != "{}" else ""]))
        )
    return described


def _normalize_text(text: str) -> str:
    try:
        return json.dumps(json.loads(extract_json(text)), sort_keys=True, ensure_ascii=False)
    except (ValueError, RecursionError):
        return _normalize_code(text)


def _normalize_code(code: str) -> str:
    """Return code without layout and comments; from other text, only a code block's fence is removed."""
    return normalize_layout(code.strip().removeprefix("```python").removesuffix("```").strip())


def compare_runs(old: Sequence[TracedRun], new: Sequence[TracedRun]) -> list[ComparedBlock]:
    """Compare the runs of each block."""
    pairs: defaultdict[str, list[RunDifference]] = defaultdict(list)
    for pair in _pair_runs(old, new):
        run = pair.old or pair.new
        assert run is not None
        pairs[run.place].append(pair)
    blocks = []
    for place, found in sorted(pairs.items()):
        both = [(pair.old, pair.new) for pair in found if pair.old and pair.new]
        effects = sum(old.effects == new.effects for old, new in both)
        outcomes = sum(old.outcome == new.outcome for old, new in both)
        differing = tuple(
            pair
            for pair in found
            if not (pair.old and pair.new)
            or (pair.old.effects, pair.old.outcome) != (pair.new.effects, pair.new.outcome)
        )
        blocks.append(ComparedBlock(place, len(found), effects, outcomes, differing))
    return blocks


def _pair_runs(old: Sequence[TracedRun], new: Sequence[TracedRun]) -> Iterator[RunDifference]:
    left = list(new)
    unpaired = []
    for run in old:
        same = (other for other in left if (other.place, other.shown) == (run.place, run.shown))
        if (match := next(same, None)) is None:
            unpaired.append(run)
        else:
            left.remove(match)
            yield RunDifference(run, match)
    for run in unpaired:
        match = next((other for other in left if other.place == run.place), None)
        if match is not None:
            left.remove(match)
        yield RunDifference(run, match)
    for run in left:
        yield RunDifference(None, run)


def format_difference(difference: RunDifference) -> list[str]:
    """Return a few lines that show the first differing effects and the differing outcomes."""
    old, new = difference.old, difference.new
    if old is None or new is None:
        return ["only with the new model" if old is None else "only with the old model"]
    lines = []
    if old.effects != new.effects:
        at = _count_equal(old.effects, new.effects)
        lines.append(f"effect {at + 1}")
        shown = ("; ".join(run.effects[at : at + 1]) or "(no more)" for run in (old, new))
        lines += _show_both(*shown)
    if old.outcome != new.outcome:
        lines += ["outcome", *_show_both(old.outcome, new.outcome)]
    return lines


def _show_both(old: str, new: str) -> list[str]:
    """Return excerpts of two texts, starting shortly before their first difference."""
    equal = _count_equal(old, new)
    start = max(0, equal - CHARS_BEFORE) if equal > MAX_SHOWN_CHARS // 2 else 0
    before = "…" if start else ""
    texts = (
        before + clip(text[start:].replace("\n", "; "), MAX_SHOWN_CHARS) for text in (old, new)
    )
    return [f"  {side}: {text}" for side, text in zip(("old", "new"), texts, strict=True)]


def _count_equal(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many items are equal before the first difference."""
    differ = (at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other)
    return next(differ, min(len(old), len(new)))
