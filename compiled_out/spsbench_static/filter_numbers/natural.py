# compiled by njc 0.3.0 from filter_numbers/natural.njpy (sha256 fe6a84875f0f419f, options cc2447ed8334793a, code f6ac682a38707f6c, abi 1)
# do not edit: change filter_numbers/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local)
"""Filter numbers by what they mean."""

import njrt as _nj
from collections.abc import Sequence


def filter_numbers(numbers: Sequence[int], prop: str) -> list[int]:
    # natural
    # Store in <:filtered_numbers: list[int]> those of <numbers>, in their order, that have the property <prop>.
    filtered_numbers: list[int]
    llm = _nj.llm_at("filter_numbers/natural.njpy:7")
    filtered_numbers = [
        num for num in numbers if llm(f"Is {num} {prop}?\n\n{num}", bool)
    ]
    _nj.check_type(
        "filter_numbers/natural.njpy:7",
        "filtered_numbers",
        filtered_numbers,
        lambda: list[int],
    )
    # end of natural block
    return filtered_numbers


# njc lines 1=1 4:1 6=3 7:3 12=7 25:10 26=11 sha256 627c056b8adc1101
