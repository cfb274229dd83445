# compiled by njc 0.3.0 from wordle_solver/natural.njpy (sha256 3cf39cf676f02d6e, abi 1)
# do not edit: change wordle_solver/natural.njpy and build again
# pyright: reportUnboundVariable=false
"""Play Wordle: a nested function guesses, and sees by its closure how the game has gone so far."""

import njrt as _nj
from collections.abc import Callable


def solve(words: list[str], try_word: Callable[[str], str], turns: int = 6) -> str | None:
    history: dict[str, str] = {}

    def next_guess() -> str:
        guess: str
        _nj.run(
            """natural(effects="answer")
        Choose from <words> the best next <:guess: str> in a game of Wordle. The <history> has the words tried
        so far, each with its feedback: "g" for a letter in its place, "y" for a letter that is elsewhere in the
        word, "." for a letter that is not in it.
        """,
            lambda: (words, guess, history),
            writes="guess",
            types=lambda: {"guess": str},
            at="wordle_solver/natural.njpy:10",
            effects="answer",
        )
        return guess

    for _ in range(turns):
        word = next_guess()
        history[word] = try_word(word)
        if history[word] == "ggggg":
            return word
    return None


# njc lines 1=1 4:1 6=3 7:3 15=10 17:11 21=10 27:15 35=23 sha256 cee0659d9f5c3b89
