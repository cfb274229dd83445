"""Play Wordle: a nested function guesses, and sees by its closure how the game has gone so far."""

from collections.abc import Callable

from spsbench.llm import llm


def solve(words: list[str], try_word: Callable[[str], str], turns: int = 6) -> str | None:
    history: dict[str, str] = {}

    def next_guess() -> str:
        guess: str = llm(
            f"Choose the best next guess in a game of Wordle.\n\nThe words: {', '.join(words)}\n"
            f"The words tried so far, each with its feedback: {history}\n\n"
            'In the feedback, "g" is a letter in its place, "y" a letter that is elsewhere in the word, and "." a '
            "letter that is not in it.",
            {"type": "string", "enum": words},
        )
        return guess

    for _ in range(turns):
        word = next_guess()
        history[word] = try_word(word)
        if history[word] == "ggggg":
            return word
    return None
