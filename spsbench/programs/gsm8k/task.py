"""Three problems in the manner of grade school mathematics, each with one number as its answer."""

from spsbench.task import Case, Check, Task


def problem(name: str, text: str, answer: float) -> Case:
    return Case(
        name,
        lambda program: program.solve(text),
        (Check(f"the answer is {answer}", lambda found: abs(found - answer) < 1e-6),),
    )


TASK = Task(
    "gsm8k",
    (
        problem(
            "bakery",
            "A bakery makes 48 rolls every morning. It sells three quarters of them before noon and half of "
            "the rest in the afternoon. How many rolls are left in 5 days?",
            30,
        ),
        problem(
            "fence",
            "Ines paints a fence of 26 boards. The first 8 boards take her 6 minutes each, and as she gets "
            "better at it, all others take a third less time each. How many minutes does she paint?",
            120,
        ),
        problem(
            "savings",
            "Omar has 15 euros and gets 7 euros a week. He spends 2 euros a week on stickers. After how many "
            "weeks can he buy a game for 60 euros?",
            9,
        ),
    ),
)
