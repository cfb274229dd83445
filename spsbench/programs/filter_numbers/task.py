"""Three properties: of dates, of common knowledge, of usage."""

from spsbench.task import Case, Check, Task


def filtered(name: str, numbers: list[int], prop: str, expected: list[int]) -> Case:
    return Case(
        name,
        lambda program: program.filter_numbers(list(numbers), prop),
        (Check(f"{expected} are left", lambda kept: kept == expected),),
    )


TASK = Task(
    "filter_numbers",
    (
        filtered(
            "birth years",
            [-40, 1987, 31, 2019, 18640, 1702],
            "could be the birth year of somebody who lives today",
            [1987, 2019],
        ),
        filtered(
            "fame", [1984, 8317, 90210, 5526], "title of a famous novel or series", [1984, 90210]
        ),
        filtered(
            "errors",
            [200, 404, 301, 503, 7],
            "an HTTP status code that reports an error",
            [404, 503],
        ),
    ),
)
