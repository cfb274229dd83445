"""The known name that an unknown name misspells; None if it is not clear: a wrong one leads astray.

find_similar("modle", OPTION_NAMES)          "model": two letters are exchanged; "mode" is shorter
find_similar("modes", OPTION_NAMES)          "mode": an added letter is likelier than a wrong one
find_similar("maxCall", OPTION_NAMES)        "max_calls"
find_similar("volume", ["value"])            None: two letters differ
find_similar("row", ["raw"])                 None: in short names, no letter is taken for another
"""

from __future__ import annotations

from collections.abc import Iterable

_LETTER = 2
"""The cost of a letter that is missing, added, or exchanged with the next."""
_WRONG_LETTER = 3
_WRONG_LETTER_IN_SHORT_WORD = 4


def find_similar(name: str, known: Iterable[str]) -> str | None:
    """Return the known name with the fewest typos, if only it has at most one or two."""
    word = _fold(name)
    most = _WRONG_LETTER + (len(word) >= 8) * _LETTER if len(word) > 1 else 0
    ranked = []
    for other in {*known}:
        if _is_class_like(other) != _is_class_like(name):
            continue
        meant = _fold(other)
        longer = abs(len(meant) - len(word))
        if longer * _LETTER <= most:
            rank = (_measure_typos(word, meant), longer, meant[:1] != word[:1])
            if rank[0] <= most:
                ranked.append((rank, other))
    ranked.sort()
    is_clear = len(ranked) == 1 or (len(ranked) > 1 and ranked[0][0] < ranked[1][0])
    return ranked[0][1] if is_clear else None


def _is_class_like(name: str) -> bool:
    """Return whether a name starts with a capital letter: `Enemy` does not mean `enemy`."""
    return name.lstrip("_")[:1].isupper()


def _fold(name: str) -> str:
    """Return a name without the case and the separators of its words."""
    return name.casefold().replace("_", "").replace("-", "")


def _measure_typos(word: str, meant: str) -> int:
    """Return the cost of the typos that turn `meant` into `word`: the optimal string alignment."""
    wrong = _WRONG_LETTER if len(word) > 4 else _WRONG_LETTER_IN_SHORT_WORD
    above, before = [0], [column * _LETTER for column in range(len(meant) + 1)]
    for row, letter in enumerate(word, 1):
        current = [row * _LETTER]
        for column, other in enumerate(meant, 1):
            cost = 0 if letter == other else wrong
            typed = (before[column] + _LETTER, current[-1] + _LETTER, before[column - 1] + cost)
            current.append(min(typed))
            if row > 1 < column and word[row - 2] + letter == other + meant[column - 2]:
                current[-1] = min(current[-1], above[column - 2] + _LETTER)
        above, before = before, current
    return before[-1]
