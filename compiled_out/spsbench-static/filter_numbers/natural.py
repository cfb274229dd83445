# compiled by njc 0.1.0 from filter_numbers/natural.njpy (sha256 d447e7e645a2cb66, options cc2447ed8334793a, code 173eebfe61c00de6, abi 1)
# do not edit: change filter_numbers/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local); passes 0 of 3 checks of its program (answered by a script)
"""Filter numbers by what they mean."""

import njrt as _nj


def filter_numbers(numbers: list[int], prop: str) -> list[int]:
    # natural
    # Store in <:filtered_numbers: list[int]> those of <numbers>, in their order, that have the property <prop>.
    filtered_numbers: list[int]
    llm = _nj.llm_at("filter_numbers/natural.njpy:5")
    filtered_numbers = [
        num for num in numbers if llm(f"Is {num} {prop}?\n\n{num}", bool)
    ]
    # end of natural block
    return filtered_numbers


# njc lines 1=1 4:1 5=2 7:2 11=5 18:8 19=9 sha256 7b226cb887ff08bf
