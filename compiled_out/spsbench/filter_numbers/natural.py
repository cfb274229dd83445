# compiled by njc 0.3.0 from filter_numbers/natural.njpy (sha256 fe6a84875f0f419f, abi 1)
# do not edit: change filter_numbers/natural.njpy and build again
# pyright: reportUnboundVariable=false
"""Filter numbers by what they mean."""

import njrt as _nj
from collections.abc import Sequence


def filter_numbers(numbers: Sequence[int], prop: str) -> list[int]:
    filtered_numbers: list[int]
    _nj.run(
        """natural
    Store in <:filtered_numbers: list[int]> those of <numbers>, in their order, that have the property <prop>.
    """,
        lambda: (filtered_numbers, numbers, prop),
        writes="filtered_numbers",
        types=lambda: {"filtered_numbers": list[int]},
        at="filter_numbers/natural.njpy:7",
        effects="answer",
    )
    return filtered_numbers


# njc lines 1=1 4:1 6=3 7:3 12=7 14:8 16=7 22:10 23=11 sha256 b21d3f13e5540b10
