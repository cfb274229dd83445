"""Measure how long it takes to show values to the model, to answer from the cache, and to keep the accounts.

    python bench/seeing_cost.py

It prints microseconds, the best of several runs; the values are shown with the default budget of 1,000 characters.
"""

from __future__ import annotations

import dataclasses
import tempfile
import time
import timeit
from collections.abc import Callable
from functools import partial
from typing import Any

from njrt.effects import Run
from njrt.events import Asked, Began, Ended, Performed, Replied
from njrt.messages import ModelMessage, Reply, Request, Tool, UserMessage
from njrt.models.model import LayeredModel
from njrt.models.scripted import Scripted
from njrt.observability.listeners import make_listener
from njrt.outcome import Completed
from njrt.persistence.cache import Cache, open_reply_store
from njrt.rendering.describe import describe_variable


@dataclasses.dataclass
class Item:
    name: str
    price: float
    tags: list[str]

    def discount(self, percent: float) -> None:
        """Lower the price."""


class Plain:
    def __init__(self, number: int) -> None:
        self.number = number
        self.digits = list(str(number))


class Spoken(Plain):
    def __repr__(self) -> str:
        return f"Spoken({self.number})"


class Link:
    def __init__(self, after: Link | None) -> None:
        self.value = 1
        self.after = after


class Graph:
    def __init__(self, size: int) -> None:
        self.nodes = {f"n{i}": {f"n{i + 1}", "root"} for i in range(size)}


def make_linked_list(length: int) -> Link | None:
    """Return a linked list."""
    link: Link | None = None
    for _ in range(length):
        link = Link(link)
    return link


def make_nested_list(depth: int) -> list[Any]:
    """Return a list in a list, `depth` times."""
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


VALUES: dict[str, Any] = {
    "an int": 3,
    "a text of 10 MB": "x" * 10_000_000,
    "5 dataclasses": [Item("a", n, ["x"]) for n in range(5)],
    "100,000 dataclasses": [Item(f"item {n}", n, ["x"]) for n in range(100_000)],
    "100,000 plain objects": [Plain(n) for n in range(100_000)],
    "100,000 with a __repr__": [Spoken(n) for n in range(100_000)],
    "100,000 dicts": [{"id": n, "name": f"name {n}"} for n in range(100_000)],
    "a dict of 1,000,000": {n: n for n in range(1_000_000)},
    "a set of 1,000,000": set(range(1_000_000)),
    "a graph of 100,000": Graph(100_000),
    "a chain of 1,000": make_linked_list(1000),
    "1,000 lists deep": make_nested_list(1000),
    "a class": Item,
}


def measure(act: Callable[[], object], number: int = 50) -> float:
    """Return the microseconds of a call: the best of five rounds, in processor time, so that other work counts little."""
    rounds = timeit.repeat(act, timer=time.process_time, number=number, repeat=5)
    return min(rounds) / number * 1e6


def make_cache_hit(folder: str) -> Callable[[], object]:
    """Return a function that asks a question of usual size again."""
    model = LayeredModel(
        Scripted(["```python\nx = 1\n```" * 10]), (Cache(open_reply_store(folder), "m"),)
    )
    messages = (UserMessage("opening " * 300),)
    request = Request("system " * 100, messages, (Tool("run", "Run.", {"type": "object"}),))
    model.ask(request)
    return lambda: model.ask(request)


def send_events() -> None:
    """Send the events of a block with one call of the model."""
    tell, request = make_listener(), Request("", (UserMessage(""),))
    tell(Began("r", 1.0, "p"))
    tell(Asked("r", 1.0, request))
    tell(Replied("r", 1.0, 1, Reply(ModelMessage("x")), 1.0))
    tell(Performed("r", 1.0, 1, Run("x", True), Completed(), 1.0))
    tell(Ended("r", 1.0, Completed(), 1.0))


def main() -> None:
    """Measure, and print a table."""
    for name, value in VALUES.items():
        cost = measure(partial(describe_variable, "x", value))
        print(f"show {name:30} {cost:8.0f} us")
    with tempfile.TemporaryDirectory() as folder:
        hit = measure(make_cache_hit(folder), 500)
        print(f"answer from the cache               {hit:8.0f} us ({1e6 / hit:,.0f} a second)")
    print(f"events and account of a run         {measure(send_events, 500):8.0f} us")


if __name__ == "__main__":
    main()
