"""What it costs to prepare and to execute a one-line snippet, model excluded: the median, in microseconds.

python bench/snippet_cost.py
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable

from njrt.execution.execute import Snippet, execute, prepare
from njrt.scope.scope import Scope, make_scope
from njrt.timeouts import call_with_timeout


def microseconds(action: Callable[[], object], rounds: int = 2000) -> float:
    """The median duration of one call of `action`."""
    durations = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        durations.append(time.perf_counter() - start)
    return statistics.median(durations) * 1e6


def shared_scope() -> Scope:
    """A scope over two variables of a function."""
    item, total = 3, 0
    return make_scope(lambda: (item, total), writes="total", at="bench.njpy:1")


def ready(source: str, scope: Scope) -> Snippet:
    """A snippet that is known to be legal."""
    snippet = prepare(source, scope)
    assert isinstance(snippet, Snippet), snippet
    return snippet


def main() -> None:
    """Print one line for each part of the way."""
    line = "total = total + item * 2"
    scope = shared_scope()
    snippet = ready(line, scope)

    print(f"scope           {microseconds(shared_scope):8.1f} µs")
    print(f"prepare, again  {microseconds(lambda: prepare(line, scope)):8.1f} µs")
    print(f"execute         {microseconds(lambda: execute(snippet, seconds=30)):8.1f} µs")
    fresh = map("total = total + item * {}".format, itertools.count())
    print(f"prepare, new    {microseconds(lambda: prepare(next(fresh), scope)):8.1f} µs")
    both = microseconds(lambda: execute(ready(line, scope), seconds=30))
    print(f"prepare+execute {both:8.1f} µs")
    print(f"time limit      {microseconds(lambda: call_with_timeout(30, int)):8.1f} µs")


if __name__ == "__main__":
    main()
