"""The words in a prompt that name a jump.

    Break if the <mail> says so. Otherwise, return it.     break, return
    Never break.                                           named, but negated: none
    Skip it, or stop here.                                 none: reported, it may mean a jump

A block is offered the jumps that its text names. Words decide nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from njc.compiler.frontend.blocks import NaturalBlock

JumpLabel = Literal["break", "continue", "return"]
JUMP_LABELS: tuple[JumpLabel, ...] = ("break", "continue", "return")

_NAMES: Mapping[JumpLabel, re.Pattern[str]] = {
    "break": re.compile(r"\bbr(?:eak(?:ing)?|oke|oken(?=\s+(?:off|out)\b))\b", re.IGNORECASE),
    "continue": re.compile(r"\bcontinu(?:e|ed|ing)\b", re.IGNORECASE),
    "return": re.compile(r"\breturn(?:ed|ing)?\b", re.IGNORECASE),
}
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
_IMPLIED: Mapping[JumpLabel, re.Pattern[str]] = {
    "continue": re.compile(r"(?<!-)\bskip(?:s|ped|ping)?\b", re.IGNORECASE),
    "break": re.compile(r"(?<!-)\bstop(?:s|ped|ping)?\b", re.IGNORECASE),
}
_QUOTED = re.compile(r"\"[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)|`[^`\n]*`")


def list_named_jumps(block: NaturalBlock) -> list[JumpLabel]:
    """Return the jumps that a text names, without jumps that it only forbids."""
    text = block.words_without_references
    return [
        label
        for label in JUMP_LABELS
        if any(not _is_negated(text, name) for name in _NAMES[label].finditer(text))
    ]


def names_raise(block: NaturalBlock) -> bool:
    """Return whether a text has the word `raise`."""
    return _RAISE.search(block.words_without_references) is not None


def _is_negated(text: str, name: re.Match[str]) -> bool:
    before = text[max(0, name.start() - 30) : name.start()]
    return bool(_NEGATED.search(before)) and not _LIMITS_NEGATION.match(text, name.end())


def find_negated_jumps(block: NaturalBlock) -> Iterator[tuple[slice, JumpLabel]]:
    """Yield the first word of each jump that a text only forbids, by its offsets in the prompt."""
    named = list_named_jumps(block)
    for label in JUMP_LABELS:
        found = _NAMES[label].search(block.words_without_references)
        if found is not None and label not in named:
            yield slice(*found.span()), label


def find_statements(block: NaturalBlock) -> Iterator[tuple[slice, JumpLabel]]:
    """Yield the clauses that ask for a jump, as `break` in "if so, break."."""
    for found in _STATEMENT.finditer(block.marked_words):
        group = "loop" if found["loop"] else "end"
        for label in JUMP_LABELS:
            if label == found[group].lower():
                yield slice(*found.span(group)), label


def find_implied_jumps(block: NaturalBlock) -> Iterator[tuple[slice, JumpLabel]]:
    """Yield the first word that may mean a jump which the text does not name: "skip it"."""
    words = block.words_without_references
    text = _QUOTED.sub(lambda quoted: " " * len(quoted[0]), words)
    for label, pattern in _IMPLIED.items():
        meant = (it for it in pattern.finditer(text) if not _is_negated(text, it))
        if (found := next(meant, None)) is not None:
            yield slice(*found.span()), label
