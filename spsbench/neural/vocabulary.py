"""Text of programs as numbers.

    vocabulary.encode_text("x = [4, 137]")    ids of "x", " = ", "[", "4", ", ", "1", "3", "7", "]"
    vocabulary.decode([...])                   "x = [4, 137]"

Words come from the training data; other words are spelled by characters, and numbers from 100 on by
digits, so that every text can be encoded and decoded unchanged. Markers, such as `<stop>`, are not
text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import get_args

from spsbench.states.actions import ACTIONS
from spsbench.states.trace import StateEvent

MAX_LINES, MAX_FRAMES, MAX_NUMBER = 64, 24, 100
PADDING = "<pad>"
MARKERS = (
    *(PADDING, "<frame>", "<fresh>", "<at>", "<;>", "<=>", "<gone>", "<value>", "<end>", "<stop>"),
    *(f"<{event}>" for event in get_args(StateEvent)),
    *(f"<{action}>" for action in ACTIONS),
    *(f"<keep {count}>" for count in range(MAX_FRAMES)),
    *(f"<line {number}>" for number in range(1, MAX_LINES + 1)),
)
_BYTES = tuple(f"<byte {number}>" for number in range(256))
_PIECES = re.compile(
    r"(?:def|class|return|if|elif|while|for|in|raise|yield|nonlocal|not|and|or|except) "
    r"|[A-Za-z_]+|\d+| +(?:[-+*/%<>=!]+|in) +|, |: | +|\(\)|.",
    re.DOTALL,
)
MIN_COUNT = 20
"""The minimum number of occurrences of a word in the training data."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words; the ids of markers, bytes and numbers come first and never change."""

    words: tuple[str, ...]
    ids: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        numbers = map(str, range(MAX_NUMBER))
        names = (*MARKERS, *_BYTES, *numbers, *self.words)
        object.__setattr__(self, "ids", {name: number for number, name in enumerate(names)})

    def __len__(self) -> int:
        return len(self.ids)

    def encode_text(self, text: str) -> list[int]:
        return [number for piece in _PIECES.findall(text) for number in self._encode_piece(piece)]

    def _encode_piece(self, piece: str) -> list[int]:
        known = None if piece in MARKERS or piece in _BYTES else self.ids.get(piece)
        if known is not None:
            return [known]
        return [self.ids[_BYTES[byte]] for byte in piece.encode("utf-8", "replace")]

    def list_names(self) -> list[str]:
        """Return the name of each id: a marker, or text."""
        return list(self.ids)


def decode_names(names: Iterable[str]) -> str:
    """Return the text of names; markers are not allowed among them."""
    parts = [
        bytes([int(name[6:-1])] if name in _BYTE_NAMES else name.encode("utf-8")) for name in names
    ]
    return b"".join(parts).decode("utf-8", "replace")


_BYTE_NAMES = frozenset(_BYTES)


def collect_vocabulary(texts: Iterable[str], min_count: int = MIN_COUNT) -> Vocabulary:
    """Return the vocabulary of training data."""
    counts = Counter(piece for text in texts for piece in _PIECES.findall(text))
    taken = {*MARKERS, *_BYTES, *map(str, range(MAX_NUMBER))}
    words = [
        piece
        for piece, count in counts.items()
        if count >= min_count and piece not in taken and not piece.isdigit()
    ]
    return Vocabulary(tuple(sorted(words)))


def read_names(names: Sequence[str], ids: Iterable[int]) -> list[str]:
    """Return the names of ids."""
    return [names[number] for number in ids]
