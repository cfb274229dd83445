"""Streams of values, made from a description of what should come out of them."""

from collections.abc import Iterator
from typing import Any

from spsbench.llm import llm


def stream_of(description: str) -> Iterator[Any]:
    code = llm(
        "Write a Python generator function `stream`, without parameters, that computes each value when it is "
        f"asked for, for this description: {description}\nAnswer with the code only, imports included."
    )
    namespace: dict[str, Any] = {}
    exec(code.removeprefix("```python").removesuffix("```"), namespace)
    stream: Iterator[Any] = namespace["stream"]()
    return stream
