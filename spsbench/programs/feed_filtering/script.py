"""What a perfect model says for feed_filtering, and a slip."""

from spsbench.script import CaseScript, Mistake, Script


def chosen(*numbers: int) -> CaseScript:
    return CaseScript((list(numbers),), (f"shown = [feed[number] for number in {list(numbers)}]",))


SCRIPT = Script(
    {"animals": chosen(0, 3), "no politics": chosen(0, 2, 3, 5), "sports": chosen(2, 5)},
    Mistake("sports", chosen(2, 4), fails=("what is wanted is shown", "nothing else is shown")),
)
