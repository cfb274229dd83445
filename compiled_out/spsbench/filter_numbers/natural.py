# compiled by njc 0.1.0 from filter_numbers/natural.njpy (sha256 d447e7e645a2cb66, abi 1)
# do not edit: change filter_numbers/natural.njpy and build again
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


# njc lines 1=1 3:1 4=2 6:2 10=5 13:6 15=5 23:8 24=9 sha256 6cc7752b57f8d0ea
