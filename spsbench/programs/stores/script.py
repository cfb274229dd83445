"""What a perfect model says for stores, and a slip."""

from typing import Any

from spsbench.script import CaseScript, Mistake, Script

GREENS = """
class Greens(Store):
    def total(self, basket):
        counts = {item: basket.count(item) for item in basket}
        return sum((count - count // 3) * self.prices[item] for item, count in counts.items())

store = Greens("Alder Street Greens", {"apples": 2.0, "leeks": 1.5})
"""
PAPER = """
class Stationer(Store):
    def total(self, basket):
        goods = sum(self.prices[item] for item in basket)
        return goods * 0.9 if goods >= 20 else goods

store = Stationer("The Paper Boat", {"notebooks": 4.0, "pens": 1.0})
"""
NIGHT = """
class Delivery(Store):
    def total(self, basket):
        return 3 + sum(self.prices[item] for item in basket)

store = Delivery("Nightowl Deliveries", {"noodles": 9.0, "soup": 6.0})
"""


def read(kind: str, name: str, prices: dict[str, float], **rule: Any) -> dict[str, Any]:
    plain = {"percent_off": 0, "percent_off_from_total": 0, "one_free_of": None, "fee": 0}
    listed = [{"item": item, "price": price} for item, price in prices.items()]
    return {"class_name": kind, "name": name, "prices": listed} | plain | rule


greens = read("Greens", "Alder Street Greens", {"apples": 2, "leeks": 1.5}, one_free_of=3)
paper = read(
    "Stationer",
    "The Paper Boat",
    {"notebooks": 4, "pens": 1},
    percent_off=10,
    percent_off_from_total=20,
)
night = read("Delivery", "Nightowl Deliveries", {"noodles": 9, "soup": 6}, fee=3)

SCRIPT = Script(
    {"street": CaseScript((greens, paper, night), (GREENS, PAPER, NIGHT))},
    Mistake(
        "street",
        CaseScript(
            (greens, paper | {"percent_off_from_total": 0}, night),
            (GREENS, PAPER.replace(" if goods >= 20 else goods", ""), NIGHT),
        ),
        fails=("notebooks, pens cost 5.0 in store 2",),
    ),
)
