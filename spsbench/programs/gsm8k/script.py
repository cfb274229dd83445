"""What a perfect model says for gsm8k, and a slip."""

from spsbench.script import CaseScript, Mistake, Script


def found(expression: str) -> CaseScript:
    return CaseScript((expression,), (f"expression = {expression!r}",))


SCRIPT = Script(
    {
        "bakery": found("5 * 48 * (1 - 3 / 4) * (1 - 1 / 2)"),
        "fence": found("8 * 6 + (26 - 8) * 6 * 2 / 3"),
        "savings": found("(60 - 15) / (7 - 2)"),
    },
    Mistake("fence", found("26 * 6 * 2 / 3"), fails=("the answer is 120",)),
)
