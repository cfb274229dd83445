# compiled by njc 0.3.0 from average_of_three/natural.njpy (sha256 9ced5f83dcc411ea, abi 1)
# do not edit: change average_of_three/natural.njpy and build again
# pyright: reportUnboundVariable=false
"""The average of three numbers that people wrote down, each in their own way."""

import njrt as _nj


def average_of_three(p: float | str, q: float | str, r: float | str) -> float:
    average: float
    _nj.run(
        """natural
    Understand <p>, <q> and <r> as numbers, whether they are digits or words of any language,
    and store their average in <:average: float>.
    """,
        lambda: (p, q, r, average),
        writes="average",
        types=lambda: {"average": float},
        at="average_of_three/natural.njpy:5",
        effects="answer",
    )
    return average


# njc lines 1=1 4:1 5=2 7:2 11=5 13:6 16=5 22:9 23=10 sha256 2bcfdcb3458179cc
