"""One task is done, two are, and none although one is spoken of."""

from types import ModuleType

from spsbench.task import Case, Check, Task

TITLES = ("water the plants", "call the landlord", "buy stamps")


def told(name: str, message: str, done: set[str]) -> Case:
    def play(program: ModuleType) -> dict[str, bool]:
        tasks = [program.Task(title) for title in TITLES]
        program.tick_off(tasks, message)
        return {task.title: task.done for task in tasks}

    return Case(
        name,
        play,
        (
            Check(
                f"done: {', '.join(sorted(done)) or 'nothing'}",
                lambda seen: seen == {title: title in done for title in TITLES},
            ),
        ),
    )


TASK = Task(
    "task_completion",
    (
        told("one", "The ferns have had their drink.", {"water the plants"}),
        told(
            "two",
            "I was at the post office for the stamps and had Mr Lund, the landlord, on the phone on the way.",
            {"buy stamps", "call the landlord"},
        ),
        told("none", "I wanted to get stamps, but the post office was closed.", set()),
    ),
)
