"""What a perfect model says for wordle_solver, and a slip."""

from spsbench.script import CaseScript, Mistake, Script


def guesses(*words: str) -> CaseScript:
    return CaseScript(words, tuple(f"guess = {word!r}" for word in words))


SCRIPT = Script(
    {
        "grace": guesses("crane", "trace", "brace", "grace"),
        "stare": guesses("slate", "share", "stare"),
        "might": guesses("slate", "night", "might"),
    },
    Mistake(
        "might",
        guesses("slate", "slate", "night", "might"),
        fails=("it is found in six words of the list, none tried twice",),
    ),
)
