"""What a perfect model says for menu, and a slip."""

from spsbench.script import CaseScript, Mistake, Script


def sold(**quantities: int) -> CaseScript:
    nothing = {"sushi": 0, "ramen": 0, "sashimi": 0, "salad": 0}
    code = "\n".join(f"inventory[{dish!r}] -= {number}" for dish, number in quantities.items())
    return CaseScript((nothing | quantities,), (code,), (f"sold = {quantities}",))


SCRIPT = Script(
    {"one": sold(sushi=1), "three": sold(sashimi=3), "without": sold(ramen=2)},
    Mistake("one", sold(sushi=1, salad=1), fails=("nothing else is sold",)),
)
