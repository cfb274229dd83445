"""The function is a closure over one enemy; a second encounter has an enemy of its own."""

from types import ModuleType
from typing import Any

from spsbench.task import Case, Check, Task


def met(program: ModuleType) -> tuple[Any, Any, Any]:
    get_enemy = program.encounter()
    return get_enemy, get_enemy(), get_enemy()


def met_twice(program: ModuleType) -> tuple[Any, Any]:
    first, second = program.encounter(), program.encounter()
    return first, second


def is_text(value: Any) -> bool:
    return isinstance(value, str) and value.strip() != ""


TASK = Task(
    "get_enemy",
    (
        Case(
            "one",
            met,
            (
                Check(
                    "the function can be called", lambda seen: callable(seen[0]), is_operation=True
                ),
                Check("the enemy has a name", lambda seen: is_text(seen[1].name)),
                Check("the enemy has a description", lambda seen: is_text(seen[1].description)),
                Check(
                    "it is the same enemy at every call",
                    lambda seen: seen[1] is seen[2],
                    is_operation=True,
                ),
            ),
        ),
        Case(
            "two",
            met_twice,
            (
                Check(
                    "each encounter has a function",
                    lambda seen: seen[0] is not seen[1],
                    is_operation=True,
                ),
                Check(
                    "each encounter has an enemy",
                    lambda seen: seen[0]() is not seen[1](),
                    is_operation=True,
                ),
            ),
        ),
    ),
    needs_python=True,
)
