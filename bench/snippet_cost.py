"""Measure how long it takes to prepare and to execute a snippet of one line: the median, in microseconds.

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


def measure(action: Callable[[], object], rounds: int = 2000) -> float:
    """Return the median duration of a call of `action` in microseconds."""
    durations = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        durations.append(time.perf_counter() - start)
    return statistics.median(durations) * 1e6


def make_shared_scope() -> Scope:
    """Return a scope with two variables of a function."""
    item, total = 3, 0
    return make_scope(lambda: (item, total), writes="total", at="bench.njpy:1")


def prepare_legal(source: str, scope: Scope) -> Snippet:
    """Return a snippet of code that is known to be legal."""
    snippet = prepare(source, scope)
    assert isinstance(snippet, Snippet), snippet
    return snippet


def main() -> None:
    """Print one line for each part."""
    line = "total = total + item * 2"
    scope = make_shared_scope()
    snippet = prepare_legal(line, scope)

    print(f"scope           {measure(make_shared_scope):8.1f} µs")
    print(f"prepare, again  {measure(lambda: prepare(line, scope)):8.1f} µs")
    print(f"execute         {measure(lambda: execute(snippet, seconds=30)):8.1f} µs")
    fresh = map("total = total + item * {}".format, itertools.count())
    print(f"prepare, new    {measure(lambda: prepare(next(fresh), scope)):8.1f} µs")
    both = measure(lambda: execute(prepare_legal(line, scope), seconds=30))
    print(f"prepare+execute {both:8.1f} µs")
    print(f"time limit      {measure(lambda: call_with_timeout(30, int)):8.1f} µs")


if __name__ == "__main__":
    main()
