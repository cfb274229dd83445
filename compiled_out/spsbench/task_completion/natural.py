# compiled by njc 0.3.0 from task_completion/natural.njpy (sha256 d6e22fa9daf4bc0c, abi 1)
# do not edit: change task_completion/natural.njpy and build again
"""A list of things to do, ticked off by telling what one has done."""

import njrt as _nj
from dataclasses import dataclass


@dataclass
class Task:
    title: str
    done: bool = False


def tick_off(tasks: list[Task], message: str) -> None:
    _nj.run(
        """natural
    Mark as done those of the <tasks> that, according to the <message>, are completed.
    """,
        lambda: (tasks, message),
        at="task_completion/natural.njpy:13",
    )


# njc lines 1=1 3:1 5=3 6:3 17=13 18:14 20=13 23=16 sha256 edc9432850dec118
