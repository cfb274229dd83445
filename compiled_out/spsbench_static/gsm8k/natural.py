# compiled by njc 0.3.0 from gsm8k/natural.njpy (sha256 2d3e4be2a0ca70ff, options cc2447ed8334793a, code 60e7dd6deda8833f, abi 1)
# do not edit: change gsm8k/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local)
"""Solve school problems: the prompt finds the arithmetic, Python does it."""

import njrt as _nj


def solve(problem: str) -> float:
    # natural
    # Read the <problem> and store in <:expression: str> one Python arithmetic expression, of the numbers that
    # it gives, whose value is the answer.
    expression: str
    llm = _nj.llm_at("gsm8k/natural.njpy:5")
    expression = llm(
        f"Please provide the arithmetic expression for the problem.\n\n{problem}", str
    )
    _nj.check_type("gsm8k/natural.njpy:5", "expression", expression, lambda: str)
    # end of natural block
    return float(eval(expression))


# njc lines 1=1 4:1 5=2 7:2 11=5 20:9 21=10 sha256 d114302e77e9e7ca
