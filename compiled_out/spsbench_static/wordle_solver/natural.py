# compiled by njc 0.3.0 from wordle_solver/natural.njpy (sha256 3cf39cf676f02d6e, options cc2447ed8334793a, code ab0a8f4e4291787f, abi 1)
# do not edit: change wordle_solver/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local)
"""Play Wordle: a nested function guesses, and sees by its closure how the game has gone so far."""

import njrt as _nj
from collections.abc import Callable


def solve(words: list[str], try_word: Callable[[str], str], turns: int = 6) -> str | None:
    history: dict[str, str] = {}

    def next_guess() -> str:
        # natural
        # Choose from <words> the best next <:guess: str> in a game of Wordle. The <history> has the words tried
        # so far, each with its feedback: "g" for a letter in its place, "y" for a letter that is elsewhere in the
        # word, "." for a letter that is not in it.
        guess: str
        llm = _nj.llm_at("wordle_solver/natural.njpy:10", effects="answer")
        guess = llm(
            f"Choose the best next guess from the given words.\n\n{', '.join(words)}",
            str,
        )
        _nj.check_type("wordle_solver/natural.njpy:10", "guess", guess, lambda: str)
        # end of natural block
        return guess

    for _ in range(turns):
        word = next_guess()
        history[word] = try_word(word)
        if history[word] == "ggggg":
            return word
    return None


# njc lines 1=1 4:1 6=3 7:3 15=10 26:15 34=23 sha256 09e6ce75db0f1a0d
