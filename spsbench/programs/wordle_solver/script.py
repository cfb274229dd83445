"""What a perfect model says for wordle_solver, and a slip."""

from spsbench.script import Lines, Script, Slip


def guesses(*words: str) -> Lines:
    return Lines(words, tuple(f"guess = {word!r}" for word in words))


SCRIPT = Script(
    {
        "grace": guesses("crane", "trace", "brace", "grace"),
        "stare": guesses("slate", "share", "stare"),
        "might": guesses("slate", "night", "might"),
    },
    Slip(
        "might",
        guesses("slate", "slate", "night", "might"),
        fails=("it is found in six words of the list, none tried twice",),
    ),
)
