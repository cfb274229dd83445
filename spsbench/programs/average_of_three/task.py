"""Numbers as floats, as English words, and each in another language."""

from types import ModuleType
from typing import Any

from spsbench.task import Case, Check, Task


def average_of(p: Any, q: Any, r: Any, expected: float, name: str) -> Case:
    def play(program: ModuleType) -> Any:
        return program.average_of_three(p, q, r)

    def holds(average: Any) -> bool:
        return isinstance(average, float) and abs(average - expected) < 1e-9

    return Case(name, play, (Check(f"the average is the float {expected}", holds),))


TASK = Task(
    "average_of_three",
    (
        average_of(1.0, 2.0, 3.0, 2.0, "digits"),
        average_of("four", "six", "eleven", 7.0, "words"),
        average_of("uno", "二", "девять", 4.0, "languages"),
    ),
)
