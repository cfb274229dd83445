# compiled by njc 0.3.0 from task_completion/natural.njpy (sha256 d6e22fa9daf4bc0c, options cc2447ed8334793a, code 1ecd009c4f82f2eb, abi 1)
# do not edit: change task_completion/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local)
"""A list of things to do, ticked off by telling what one has done."""

import njrt as _nj
from dataclasses import dataclass


@dataclass
class Task:
    title: str
    done: bool = False


def tick_off(tasks: list[Task], message: str) -> None:
    # natural
    # Mark as done those of the <tasks> that, according to the <message>, are completed.
    llm = _nj.llm_at("task_completion/natural.njpy:13")
    for task in tasks:
        if llm(f"Is the task '{task.title}' completed?\n\n{message}", bool):
            task.done = True
    # end of natural block


# njc lines 1=1 4:1 6=3 7:3 18=13 24=16 sha256 0eebfbd147c29977
