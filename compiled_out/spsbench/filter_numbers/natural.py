# compiled by njc 0.1.0 from filter_numbers/natural.njpy (sha256 d447e7e645a2cb66, abi 1)
# do not edit: change filter_numbers/natural.njpy and build again
# pyright: reportUnboundVariable=false
"""Filter numbers by what they mean."""

import njrt as _nj


def filter_numbers(numbers: list[int], prop: str) -> list[int]:
    filtered_numbers: list[int]
    try:
        _nj.run(
            """natural
    Store in <:filtered_numbers: list[int]> those of <numbers>, in their order, that have the property <prop>.
    """,
            lambda: (filtered_numbers, numbers, prop),
            writes="filtered_numbers",
            types=lambda: {"filtered_numbers": list[int]},
            labels="return",
            at="filter_numbers/natural.njpy:5",
        )
    except _nj.Return as _nj_r:
        return _nj_r.value
    return filtered_numbers


# njc lines 1=1 4:1 5=2 7:2 11=5 14:6 16=5 24:8 25=9 sha256 02187558d3f44375
