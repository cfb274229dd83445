# compiled by njc 0.1.0 from gsm8k/natural.njpy (sha256 2d3e4be2a0ca70ff, options cc2447ed8334793a, code bdeb4c5f64fe2d31, abi 1)
# do not edit: change gsm8k/natural.njpy and build again
# no code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local) is used: the blocks run live
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


# njc lines 1=1 5:1 6=2 8:2 12=5 15:6 18=5 26:9 27=10 sha256 3f349d5886746036
