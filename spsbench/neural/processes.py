"""Map a function over items in other processes, in order, working a few items ahead.

batches = map_in_processes(pack, items, workers=8)   as map(pack, items); workers=0: in this process
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
AHEAD = 4
"""The number of items that each process works ahead; their results wait in memory."""


def map_in_processes(
    function: Callable[[Item], Result], items: Iterable[Item], workers: int
) -> Iterator[Result]:
    """Yield the result of each item, in the order of the items."""
    if workers == 0:
        yield from map(function, items)
        return
    waiting: deque[Future[Result]] = deque()
    spawning = get_context("spawn")
    with ProcessPoolExecutor(workers, spawning, initializer=_end_with_parent) as pool:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _end_with_parent() -> None:
    """End this process if its parent is killed, because nothing else would end it."""
    Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
