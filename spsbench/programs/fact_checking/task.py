"""Two texts: one goes into an empty list, one into a list with something in it."""

from types import ModuleType
from typing import Any

from spsbench.task import Case, Check, Task


def verdicts(results: list[Any]) -> list[bool]:
    return [result["is_true"] for result in results]


def geography(program: ModuleType) -> list[Any]:
    results: list[Any] = []
    program.check_facts(
        "Lisbon is the capital of Portugal. The Danube flows into the Baltic Sea. I love both of them. "
        "Iceland has volcanoes.",
        results,
    )
    return results


def biology(program: ModuleType) -> tuple[list[Any], Any]:
    first = {"claim": "Snails are insects.", "is_true": False}
    results = [first]
    program.check_facts("Whales are mammals, while penguins are fish.", results)
    return results, first


TASK = Task(
    "fact_checking",
    (
        Case(
            "geography",
            geography,
            (
                Check("there are three claims", lambda results: len(results) == 3),
                Check(
                    "they are judged right",
                    lambda results: verdicts(results) == [True, False, True],
                ),
                Check(
                    "they are in order",
                    lambda results: all(
                        word in result["claim"]
                        for word, result in zip(
                            ("Lisbon", "Danube", "Iceland"), results, strict=True
                        )
                    ),
                ),
            ),
        ),
        Case(
            "biology",
            biology,
            (
                Check(
                    "what was there is still there",
                    lambda seen: seen[0][0] is seen[1],
                    is_operation=True,
                ),
                Check("two results are new", lambda seen: len(seen[0]) == 3),
                Check("they are judged right", lambda seen: verdicts(seen[0][1:]) == [True, False]),
            ),
        ),
    ),
)
