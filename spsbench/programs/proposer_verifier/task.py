"""Two riddles with one answer each."""

from spsbench.task import Case, Check, Task


def riddle(name: str, text: str, answer: str) -> Case:
    return Case(
        name,
        lambda program: program.solve(text),
        (Check(f"the answer is {answer}", lambda found: found == answer),),
    )


TASK = Task(
    "proposer_verifier",
    (
        riddle(
            "candle",
            "I am tall when I am young and short when I am old.\nA breath ends my life.\nI weep wax.",
            "candle",
        ),
        riddle(
            "echo",
            "I answer in every language and have learned none.\nI speak only after you.\n"
            "You find me in the mountains.",
            "echo",
        ),
    ),
)
