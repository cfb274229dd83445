"""What a perfect model says for menu, and a slip."""

from spsbench.script import Lines, Script, Slip


def sold(**quantities: int) -> Lines:
    nothing = {"sushi": 0, "ramen": 0, "sashimi": 0, "salad": 0}
    code = "\n".join(f"inventory[{dish!r}] -= {number}" for dish, number in quantities.items())
    return Lines((nothing | quantities,), (code,))


SCRIPT = Script(
    {"one": sold(sushi=1), "three": sold(sashimi=3), "without": sold(ramen=2)},
    Slip("one", sold(sushi=1, salad=1), fails=("nothing else is sold",)),
)
