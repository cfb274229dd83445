"""Solve riddles in two steps, again and again: one prompt proposes, another one verifies."""

from spsbench.llm import llm


def solve(riddle: str, attempts: int = 4) -> str | None:
    rejected: list[str] = []
    for _ in range(attempts):
        answer: str = llm(
            f"Propose one word in lower case as the answer to this riddle, none of {rejected}.\n\n{riddle}",
            {"type": "string"},
        )
        fits = llm(
            f"Go through this riddle line by line: does the answer {answer!r} fit every one of them?\n\n{riddle}",
            {"type": "boolean"},
        )
        if fits:
            return answer
        rejected.append(answer)
    return None
