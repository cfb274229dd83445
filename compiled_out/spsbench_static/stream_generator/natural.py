# compiled by njc 0.3.0 from stream_generator/natural.njpy (sha256 541f2127dd5a6314, options cc2447ed8334793a, code bdeb4c5f64fe2d31, abi 1)
# do not edit: change stream_generator/natural.njpy and build again
# no code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local) is used: the blocks run live
# pyright: reportUnboundVariable=false
"""Streams of values, made from a description of what should come out of them."""

import njrt as _nj
from collections.abc import Iterator
from typing import Any


def stream_of(description: str) -> Iterator[Any]:
    stream: Iterator[Any]
    _nj.run(
        """natural
    Define a generator function for this <description>, which computes each value when it is asked for,
    and store a generator that it makes in <:stream: Iterator[Any]>.
    """,
        lambda: (description, stream),
        writes="stream",
        types=lambda: {"stream": Iterator[Any]},
        at="stream_generator/natural.njpy:8",
    )
    return stream


# njc lines 1=1 5:1 7=3 8:3 14=8 16:9 19=8 24:12 25=13 sha256 9615e16c63b9a64a
