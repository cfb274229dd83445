# compiled by njc 0.3.0 from task_completion/rewritten.njpy (sha256 ce8d23a273149e63, abi 1)
# do not edit: change task_completion/rewritten.njpy and build again
# pyright: reportUnboundVariable=false
"""A list of things to do, ticked off by telling what one has done."""

import njrt as _nj
from dataclasses import dataclass


@dataclass
class Task:
    title: str
    done: bool = False


def tick_off(tasks: list[Task], message: str) -> None:
    titles: tuple[str, ...] = tuple(task.title for task in tasks)
    completed: list[str]
    _nj.run(
        """natural
    Choose from these <titles> the tasks that, according to the <message>, are completed: <:completed: list[str]>.
    """,
        lambda: (titles, message, completed),
        writes="completed",
        types=lambda: {"completed": list[str]},
        at="task_completion/rewritten.njpy:14",
        effects="answer",
    )
    for task in tasks:
        task.done |= task.title in completed


# njc lines 1=1 4:1 6=3 7:3 19=14 21:15 23=14 29:17 31=19 sha256 e954a3a08c91d1d8
