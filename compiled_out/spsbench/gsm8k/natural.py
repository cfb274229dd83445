# compiled by njc 0.1.0 from gsm8k/natural.njpy (sha256 2d3e4be2a0ca70ff, abi 1)
# do not edit: change gsm8k/natural.njpy and build again
# pyright: reportUnboundVariable=false
"""Solve school problems: the prompt finds the arithmetic, Python does it."""

import njrt as _nj


def solve(problem: str) -> float:
    expression: str
    try:
        _nj.run(
            """natural
    Read the <problem> and store in <:expression: str> one Python arithmetic expression, of the numbers that
    it gives, whose value is the answer.
    """,
            lambda: (problem, expression),
            writes="expression",
            types=lambda: {"expression": str},
            labels="return",
            at="gsm8k/natural.njpy:5",
        )
    except _nj.Return as _nj_r:
        return _nj_r.value
    return float(eval(expression))


# njc lines 1=1 4:1 5=2 7:2 11=5 14:6 17=5 25:9 26=10 sha256 ae246f0faa5d9c1c
