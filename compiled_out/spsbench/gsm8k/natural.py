# compiled by njc 0.3.0 from gsm8k/natural.njpy (sha256 2d3e4be2a0ca70ff, abi 1)
# do not edit: change gsm8k/natural.njpy and build again
# pyright: reportUnboundVariable=false
"""Solve school problems: the prompt finds the arithmetic, Python does it."""

import njrt as _nj


def solve(problem: str) -> float:
    expression: str
    _nj.run(
        """natural
    Read the <problem> and store in <:expression: str> one Python arithmetic expression, of the numbers that
    it gives, whose value is the answer.
    """,
        lambda: (problem, expression),
        writes="expression",
        types=lambda: {"expression": str},
        at="gsm8k/natural.njpy:5",
        effects="answer",
    )
    return float(eval(expression))


# njc lines 1=1 4:1 5=2 7:2 11=5 13:6 16=5 22:9 23=10 sha256 061c9bded87523c5
