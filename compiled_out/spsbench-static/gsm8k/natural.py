# compiled by njc 0.1.0 from gsm8k/natural.njpy (sha256 2d3e4be2a0ca70ff, options cc2447ed8334793a, abi 1)
# do not edit: change gsm8k/natural.njpy and build again
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


# njc lines 1=1 3:1 4=2 6:2 10=5 13:6 16=5 24:9 25=10 sha256 7c5480c1ee28be34
