# compiled by njc 0.1.0 from stream_generator/natural.njpy (sha256 541f2127dd5a6314, options cc2447ed8334793a, code 987b91049ddd80f3, abi 1)
# do not edit: change stream_generator/natural.njpy and build again
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


# njc lines 1=1 3:1 11=8 16:12 17=13 sha256 83595da8a9f05419
