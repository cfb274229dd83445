# compiled by njc 0.1.0 from stream_generator/natural.njpy (sha256 541f2127dd5a6314, options cc2447ed8334793a, code 23660842706e0e0b, abi 1)
# do not edit: change stream_generator/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local); passes 0 of 6 checks of its program (answered by a script)
"""Streams of values, made from a description of what should come out of them."""

from collections.abc import Iterator
from typing import Any


def stream_of(description: str) -> Iterator[Any]:
    # natural
    # Define a generator function for this <description>, which computes each value when it is asked for,
    # and store a generator that it makes in <:stream: Iterator[Any]>.
    stream: Iterator[Any]
    stream = iter(description.splitlines())
    # end of natural block
    return stream


# njc lines 1=1 4:1 12=8 17:12 18=13 sha256 caf1082ffdf713cb
