"""Two streams without an end, and one that has one."""

from itertools import islice
from types import GeneratorType, ModuleType
from typing import Any

from spsbench.task import Case, Check, Task


def stream(name: str, description: str, first: list[Any]) -> Case:
    """What is seen: the stream, its first values, and the one that comes next, if any."""

    def play(program: ModuleType) -> tuple[Any, list[Any]]:
        made = program.stream_of(description)
        return made, list(islice(made, len(first)))

    return Case(
        name,
        play,
        (
            Check(
                "it is a generator",
                lambda seen: isinstance(seen[0], GeneratorType),
                is_operation=True,
            ),
            Check(f"it begins with {first}", lambda seen: seen[1] == first),
        ),
    )


TASK = Task(
    "stream_generator",
    (
        stream("squares", "the squares of the odd numbers from 1 on, without end", [1, 9, 25, 49]),
        stream(
            "weekdays",
            "the English names of the days of the week, again and again, beginning with Saturday",
            [
                "Saturday",
                "Sunday",
                "Monday",
                "Tuesday",
                "Wednesday",
                "Thursday",
                "Friday",
                "Saturday",
            ],
        ),
        stream(
            "countdown", "a countdown from 3 to 1, and then the word liftoff", [3, 2, 1, "liftoff"]
        ),
    ),
    needs_python=True,
)
