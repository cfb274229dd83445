# compiled by njc 0.3.0 from average_of_three/natural.njpy (sha256 9ced5f83dcc411ea, options cc2447ed8334793a, code 56cb405f8cbb02af, abi 1)
# do not edit: change average_of_three/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local)
"""The average of three numbers that people wrote down, each in their own way."""

import njrt as _nj


def average_of_three(p: float | str, q: float | str, r: float | str) -> float:
    # natural
    # Understand <p>, <q> and <r> as numbers, whether they are digits or words of any language,
    # and store their average in <:average: float>.
    average: float
    average = (p + q + r) / 3
    _nj.check_type("average_of_three/natural.njpy:5", "average", average, lambda: float)
    # end of natural block
    return average


# njc lines 1=1 4:1 5=2 7:2 11=5 17:9 18=10 sha256 4330a9897b5a1631
