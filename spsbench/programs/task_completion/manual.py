"""A list of things to do, ticked off by telling what one has done."""

from dataclasses import dataclass

from spsbench.llm import llm


@dataclass
class Task:
    title: str
    done: bool = False


def tick_off(tasks: list[Task], message: str) -> None:
    listed = "\n".join(f"{number}: {task.title}" for number, task in enumerate(tasks))
    completed = llm(
        f"Tasks, by number:\n{listed}\n\nWhich of them are completed, according to this message? {message}",
        {"type": "array", "items": {"type": "integer"}},
    )
    for number in completed:
        tasks[number].done = True
