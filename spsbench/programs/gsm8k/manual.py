"""Solve school problems: the prompt finds the arithmetic, Python does it."""

from spsbench.llm import llm


def solve(problem: str) -> float:
    expression: str = llm(
        "Read the problem and give one Python arithmetic expression, of the numbers that it gives, whose value "
        f"is the answer.\n\n{problem}",
        {"type": "string"},
    )
    return float(eval(expression))
