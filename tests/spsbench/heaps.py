"""The heap of a block's run, for tests of the forms of values."""

from __future__ import annotations

from typing import Any

from njrt.interface import Handling, References
from spsbench.references import Heap


def open_heap(*known: object) -> Heap:
    """Return the heap of a block without variables, whose model was shown the `known` objects."""
    references = References()
    for value in known:
        references.get_number(value)

    def assign(name: str, value: object) -> None:
        raise LookupError(name)

    def look_up(name: str) -> Any:
        raise LookupError(name)

    run = Handling("a.njpy:1", (), (), None, look_up, assign, references)
    return Heap(run)
