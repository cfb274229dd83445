"""What a perfect model says for feed_filtering, and a slip."""

from spsbench.script import Lines, Script, Slip


def chosen(*numbers: int) -> Lines:
    return Lines((list(numbers),), (f"shown = [feed[number] for number in {list(numbers)}]",))


SCRIPT = Script(
    {"animals": chosen(0, 3), "no politics": chosen(0, 2, 3, 5), "sports": chosen(2, 5)},
    Slip("sports", chosen(2, 4), fails=("what is wanted is shown", "nothing else is shown")),
)
