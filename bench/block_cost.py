"""Measure a natural block without the time of the model: a script answers.

    block, 1 object                    0.33 ms      median of entry to exit, at most 0.6 ms
    block, 100 objects                 0.65 ms      2.0 x the block with one
    block, 10,000 objects              0.38 ms      1.2 x the block with one
    block, 100,000 objects             0.38 ms      1.2 x the block with one
    1,000 async blocks, 50 ms model    0.30 s       0.8 x (50 ms + the floor of 0.31 s), at most 3 x
    import njrt                        2 ms         at most 50 ms; no SDK is loaded
    first block                        194 ms       loads what runs blocks
    100,000 blocks more                +0.0 MB      of peak memory

(Measured on two cores with Python 3.11.) The cost depends on the text that the model is shown, at most 1,000
characters of each variable, and not on the size of the value: it is highest if a collection almost fits.
The floor of the async blocks is the time that the same 1,000 tasks take with a model that answers at once:
one thread does that work, whatever schedules it. Memory is the growth of the process's peak after a
warm-up of 10,000 blocks. pydantic, the SDKs and SQLite are loaded when they are needed.
"""

from __future__ import annotations

import asyncio
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import njrt
from njrt.messages import Protocol, Reply, Request
from njrt.testing import Scripted, run

ANSWER = run("total = len(items)", done=True)
TASKS, DELAY = 1_000, 0.050
FRESH = 7


class Thing:
    """An object of the program."""

    def __init__(self, number: int) -> None:
        self.number = number


class ConstantModel:
    """A model that always gives the same reply and keeps nothing."""

    name = "constant"
    protocol: Protocol = "tools"

    def __init__(self, delay: float = 0.0) -> None:
        self.reply = Scripted([ANSWER]).ask(Request("", ()))
        self.delay = delay

    def ask(self, request: Request) -> Reply:
        return self.reply

    async def aask(self, request: Request) -> Reply:
        await asyncio.sleep(self.delay)
        return self.reply


def block(items: list[Any]) -> Any:
    """Run the code that njc generates for a block that puts the number of <items> into <:total>."""
    total = None
    njrt.run(
        """natural
        Put the number of <items> into <:total>.
        """,
        lambda: (items, total),
        writes="total",
        at="block_cost.njpy:3",
    )
    return total


async def ablock(items: list[Any]) -> Any:
    """Do the same in an `async` function."""
    total = None
    await njrt.arun(
        """natural
        Put the number of <items> into <:total>.
        """,
        lambda: (items, total),
        writes="total",
        at="block_cost.njpy:9",
    )
    return total


def measure(action: Callable[[], object], rounds: int = 1500) -> float:
    """Return the median duration of a call in milliseconds."""
    durations = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        durations.append(time.perf_counter() - start)
    return statistics.median(durations) * 1e3


def time_all_tasks(delay: float) -> float:
    """Return the seconds of all tasks together, with a model that answers after `delay` seconds."""

    async def run_all() -> float:
        start = time.perf_counter()
        results = await asyncio.gather(*(ablock([1]) for _ in range(TASKS)))
        assert results == [1] * TASKS
        return time.perf_counter() - start

    with njrt.using(model=ConstantModel(delay)):
        return asyncio.run(run_all())


def run_in_fresh_processes(code: str) -> float:
    """Return the median of the numbers that `code` prints, each time in a new process."""
    found = []
    for _ in range(FRESH):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        found.append(float(done.stdout))
    return statistics.median(found)


IMPORT = """
import sys, time
start = time.perf_counter()
import njrt
seconds = time.perf_counter() - start
heavy = {"openai", "anthropic", "httpx", "pydantic", "asyncio", "sqlite3"} & sys.modules.keys()
assert not heavy, heavy
print(seconds * 1e3)
"""
FIRST_BLOCK = """
import time
import njrt
from njrt.testing import Scripted, run
def block(x):
    njrt.run("natural\\nPut <x> into <:y>.", lambda: (x, y), writes="y", at="a.njpy:1")
y = None
model = Scripted([run("y = x", done=True)])
start = time.perf_counter()
with njrt.using(model=model):
    block(1)
print((time.perf_counter() - start) * 1e3)
"""


def read_peak_megabytes() -> float:
    """Return the peak memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def show(name: str, figure: str, note: str) -> None:
    """Print one row."""
    print(f"{name:<35}{figure:<13}{note}")


def main() -> None:
    """Measure, and print a table."""
    njrt.configure(policy="guarded")
    with njrt.using(model=ConstantModel()):
        one = measure(lambda: block([Thing(0)]))
        show("block, 1 object", f"{one:.2f} ms", "median of entry to exit, at most 0.6 ms")
        for count in (100, 10_000, 100_000):
            things: list[Any] = [Thing(number) for number in range(count)]
            many = measure(lambda things=things: block(things))  # type: ignore[misc]
            show(
                f"block, {count:,} objects",
                f"{many:.2f} ms",
                f"{many / one:.1f} x the block with one",
            )
    floor = min(time_all_tasks(0.0) for _ in range(3))
    whole = min(time_all_tasks(DELAY) for _ in range(3))
    ratio = f"{whole / (DELAY + floor):.1f} x (50 ms + the floor of {floor:.2f} s), at most 3 x"
    show(f"{TASKS:,} async blocks, 50 ms model", f"{whole:.2f} s", ratio)
    show(
        "import njrt", f"{run_in_fresh_processes(IMPORT):.0f} ms", "at most 50 ms; no SDK is loaded"
    )
    show("first block", f"{run_in_fresh_processes(FIRST_BLOCK):.0f} ms", "loads what runs blocks")
    with njrt.using(model=ConstantModel()):
        for _ in range(10_000):
            block([1])
        before = read_peak_megabytes()
        for _ in range(100_000):
            block([1])
        show("100,000 blocks more", f"{read_peak_megabytes() - before:+.1f} MB", "of peak memory")


if __name__ == "__main__":
    main()
