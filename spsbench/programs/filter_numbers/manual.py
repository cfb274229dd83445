"""Filter numbers by what they mean."""

from spsbench.llm import llm


def filter_numbers(numbers: list[int], prop: str) -> list[int]:
    filtered_numbers: list[int] = llm(
        f"Which of the numbers {numbers}, in their order, have this property: {prop}?",
        {"type": "array", "items": {"type": "integer"}},
    )
    return filtered_numbers
