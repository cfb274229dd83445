"""The words in a prompt that name a jump.

    Break if the <mail> says so. Otherwise, return it.     break, return
    Never break.                                           named, but negated: none
    Skip it, or stop here.                                 none: reported, it may mean a jump

A block is offered the jumps that its text names. Words decide nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal

from njc.compiler.frontend.blocks import NaturalBlock

JumpLabel = Literal["break", "continue", "return"]
JUMP_LABELS: tuple[JumpLabel, ...] = ("break", "continue", "return")

_NAMES = re.compile(
    r"\b(?:(?P<break>br(?:eak(?:ing)?|oke|oken(?=\s+(?:off|out)\b)))"
    r"|(?P<continue>continu(?:e|ed|ing))|(?P<return>return(?:ed|ing)?))\b",
    re.IGNORECASE,
)
"""The words that name a jump; not `returns` and the like, which say what a function does."""
_RAISE = re.compile(r"\b(?:re-?)?rais(?:e|es|ed|ing)\b", re.IGNORECASE)
_NEGATED = re.compile(
    r"(?:\b(?:not|never|no|nor|without|cannot|avoid)|n['’]t)\s+"
    r"(?:\w+ly\s+|ever\s+|(?:\w+\s+)?(?:or|nor)\s+)?\Z",
    re.IGNORECASE,
)
_LIMITS_NEGATION = re.compile(
    r"[^.;!?\n]*\b(?:unless|until|before|except|but|other than|if not)\b", re.IGNORECASE
)
CLAUSE_START = r"(?:\A|[.,;:!?(\n]|\b(?:and|or|then|else|otherwise)\b)\s*"
"""The place in a text of the first word of a sentence or a clause."""
_STATEMENT = re.compile(
    CLAUSE_START + r"(?:(?P<loop>break|continue)\b"
    r"(?=\s*(?:[.,;:!?)]|\Z|(?:after|and|as|before|here|if|now|once|or|out|unless|when|with)\b))"
    r"|(?P<end>return)\b)",
    re.IGNORECASE,
)
_IMPLIED = re.compile(
    r"(?<!-)\b(?:(?P<continue>skip(?:s|ped|ping)?)|(?P<break>stop(?:s|ped|ping)?))\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"\"[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)|`[^`\n]*`")


@lru_cache(maxsize=2)
def _find_words(pattern: re.Pattern[str], text: str) -> Sequence[tuple[JumpLabel, slice, bool]]:
    """Return the words of jumps in a text: the label, the place, and whether it is negated."""
    return [
        (label, slice(*found.span()), _is_negated(text, found))
        for found in pattern.finditer(text)
        for label in JUMP_LABELS
        if label == found.lastgroup
    ]


def list_named_jumps(block: NaturalBlock) -> list[JumpLabel]:
    """Return the jumps that a text names, without jumps that it only forbids."""
    found = _find_words(_NAMES, block.words_without_references)
    named = {label for label, _, is_negated in found if not is_negated}
    return [label for label in JUMP_LABELS if label in named]


def names_raise(block: NaturalBlock) -> bool:
    """Return whether a text has the word `raise`."""
    return _RAISE.search(block.words_without_references) is not None


def _is_negated(text: str, name: re.Match[str]) -> bool:
    before = text[max(0, name.start() - 30) : name.start()]
    return bool(_NEGATED.search(before)) and not _LIMITS_NEGATION.match(text, name.end())


def find_negated_jumps(block: NaturalBlock) -> Iterator[tuple[slice, JumpLabel]]:
    """Yield the first word of each jump that a text only forbids, by its offsets in the prompt."""
    seen = set(list_named_jumps(block))
    for label, place, _ in _find_words(_NAMES, block.words_without_references):
        if label not in seen:
            seen.add(label)
            yield place, label


def find_statements(block: NaturalBlock) -> Iterator[tuple[slice, JumpLabel]]:
    """Yield the clauses that ask for a jump, as `break` in "if so, break."."""
    for found in _STATEMENT.finditer(block.marked_words):
        group = "loop" if found["loop"] else "end"
        for label in JUMP_LABELS:
            if label == found[group].lower():
                yield slice(*found.span(group)), label


def find_implied_jumps(block: NaturalBlock) -> Iterator[tuple[slice, JumpLabel]]:
    """Yield the first word that may mean a jump which the text does not name: "skip it"."""
    text = block.words_without_references
    if _IMPLIED.search(text) is None:
        return
    text = _QUOTED.sub(lambda quoted: " " * len(quoted[0]), text)
    seen = set[JumpLabel]()
    for label, place, is_negated in _find_words(_IMPLIED, text):
        if not is_negated and label not in seen:
            seen.add(label)
            yield place, label
