"""Three games over one list of words; the secret is known to the game only."""

from types import ModuleType
from typing import Any

from spsbench.task import Case, Check, Task

WORDS = [
    "crane",
    "slate",
    "light",
    "night",
    "might",
    "fight",
    "sight",
    "right",
    "trace",
    "brace",
    "grace",
    "place",
    "plane",
    "flame",
    "blame",
    "shame",
    "share",
    "spare",
    "stare",
    "store",
]


def feedback(secret: str, guess: str) -> str:
    """Wordle's rule: a letter is yellow only as often as it is left over in the secret."""
    left = [letter for letter, tried in zip(secret, guess, strict=True) if letter != tried]
    marks = []
    for letter, tried in zip(secret, guess, strict=True):
        if letter == tried:
            marks.append("g")
        elif tried in left:
            left.remove(tried)
            marks.append("y")
        else:
            marks.append(".")
    return "".join(marks)


def game(secret: str) -> Case:
    def play(program: ModuleType) -> tuple[str | None, list[str]]:
        tried: list[str] = []

        def try_word(word: str) -> Any:
            tried.append(word)
            return feedback(secret, word)

        return program.solve(list(WORDS), try_word), tried

    return Case(
        secret,
        play,
        (
            Check(
                "it is found in six words of the list, none tried twice",
                lambda seen: (
                    seen[0] == secret
                    and set(seen[1]) <= set(WORDS)
                    and len(set(seen[1])) == len(seen[1]) <= 6
                ),
            ),
        ),
    )


TASK = Task("wordle_solver", (game("grace"), game("stare"), game("might")))
