"""Measure contained code beside guarded code: the time that a piece of code takes, in milliseconds.

a loop over 1,000 objects   14.2      0.1      contained, guarded
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

from njrt.data.options import CodePolicy
from njrt.execution.execute import Ran, Snippet, execute, prepare
from njrt.execution.scope.opening import make_scope

REPEATS = 20
LOOP = "sum(it.health for it in enemies)"
CASES = [
    ("nothing", 0, "pass"),
    ("a loop over 10 objects", 10, LOOP),
    ("a loop over 1,000 objects", 1000, LOOP),
    ("1,000 objects changed", 1000, "for it in enemies: it.health -= 1"),
    ("1,000 calls of a method", 1000, "for it in enemies: it.hit(1)"),
    ("100 calls beside 1,000", 1000, "for _ in range(100): look(enemies[0].health)"),
    ("a loop over 20,000 objects", 20_000, LOOP),
]


@dataclass
class Enemy:
    """An object of the program."""

    name: str
    health: int

    def hit(self, points: int) -> None:
        self.health -= points


def look(number: int) -> int:
    """A function of the program."""
    return number


def time_piece(code: str, count: int, policy: CodePolicy) -> float:
    """Return the median time of a piece of code, in milliseconds."""
    enemies = [Enemy(f"enemy {number}", number) for number in range(count)]
    times = []
    for _ in range(REPEATS):
        snippet = prepare(
            code, make_scope(lambda: (enemies, look), at="bench.njpy:1"), policy=policy
        )
        assert isinstance(snippet, Snippet), snippet
        start = time.perf_counter()
        assert isinstance(execute(snippet), Ran)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


if __name__ == "__main__":
    for name, count, code in CASES:
        contained, guarded = (time_piece(code, count, it) for it in ("contained", "guarded"))
        print(f"{name:28} {contained:8.1f} {guarded:8.1f}")
