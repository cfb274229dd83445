# compiled by njc 0.2.0 from task_completion/natural.njpy (sha256 ce8d23a273149e63, options cc2447ed8334793a, code bdeb4c5f64fe2d31, abi 1)
# do not edit: change task_completion/natural.njpy and build again
# no code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local) is used: the blocks run live
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
        at="task_completion/natural.njpy:14",
        effects="answer",
    )
    for task in tasks:
        task.done |= task.title in completed


# njc lines 1=1 5:1 7=3 8:3 20=14 22:15 24=14 30:17 32=19 sha256 c1e000f922929452
