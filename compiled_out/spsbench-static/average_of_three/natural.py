# compiled by njc 0.1.0 from average_of_three/natural.njpy (sha256 9ced5f83dcc411ea, options cc2447ed8334793a, code bdeb4c5f64fe2d31, abi 1)
# do not edit: change average_of_three/natural.njpy and build again
# no code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local) is used: the blocks run live
# pyright: reportUnboundVariable=false
"""The average of three numbers that people wrote down, each in their own way."""

import njrt as _nj


def average_of_three(p: float | str, q: float | str, r: float | str) -> float:
    average: float
    try:
        _nj.run(
            """natural
    Understand <p>, <q> and <r> as numbers, whether they are digits or words of any language,
    and store their average in <:average: float>.
    """,
            lambda: (p, q, r, average),
            writes="average",
            types=lambda: {"average": float},
            labels="return",
            at="average_of_three/natural.njpy:5",
        )
    except _nj.Return as _nj_r:
        return _nj_r.value
    return average


# njc lines 1=1 5:1 6=2 8:2 12=5 15:6 18=5 26:9 27=10 sha256 629b8bc5f944d995
