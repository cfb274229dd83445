"""The average of three numbers that people wrote down, each in their own way."""

from spsbench.llm import llm


def average_of_three(p: float | str, q: float | str, r: float | str) -> float:
    average = llm(
        f"Understand {p!r}, {q!r} and {r!r} as numbers, whether they are digits or words of any language, "
        "and compute their average.",
        {"type": "number"},
    )
    return float(average)
