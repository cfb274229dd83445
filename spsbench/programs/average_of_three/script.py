"""What a perfect model says for average_of_three, and a slip."""

from spsbench.script import CaseScript, Mistake, Script

SCRIPT = Script(
    {
        "digits": CaseScript((2.0,), ("average = (p + q + r) / 3",)),
        "words": CaseScript((7,), ("average = (4 + 6 + 11) / 3",)),
        "languages": CaseScript((4.0,), ("average = (1 + 2 + 9) / 3",)),
    },
    Mistake(
        "languages",
        CaseScript((2.0,), ("average = (1 + 2 + 3) / 3",)),
        fails=("the average is the float 4.0",),
    ),
)
