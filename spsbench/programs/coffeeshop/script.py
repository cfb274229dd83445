"""What a perfect model says for coffeeshop, and a slip."""

from typing import Any

from spsbench.script import CaseScript, Mistake, Script


def answer(*lines: dict[str, Any], missing: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"lines": list(lines), "not_on_the_menu": list(missing)}


def line(kind: str, name: str, quantity: int = 1, **details: Any) -> dict[str, Any]:
    return {"quantity": quantity, "item": {"kind": kind, "name": name, **details}}


def refusal(*missing: str) -> CaseScript:
    return CaseScript((answer(missing=missing),), (f"raise NotOnTheMenu({', '.join(missing)!r})",))


LATTE = """
syrup = Syrup(flavour="caramel", amount="light")
latte = MilkDrink(name="latte", size="large", milk="oat", syrups=[syrup])
order = Order(lines=[Line(quantity=1, item=latte)])
"""

SCRIPT = Script(
    {
        "latte": CaseScript(
            (
                answer(
                    line(
                        "milk drink",
                        "latte",
                        size="large",
                        milk="oat",
                        syrups=[{"flavour": "caramel", "amount": "light"}],
                    )
                ),
            ),
            (LATTE,),
        ),
        "two": CaseScript(
            (
                answer(
                    line("coffee", "espresso", shots=2),
                    line("coffee", "espresso", shots=2, decaf=True),
                    line("pastry", "croissant", warmed=True, spread="butter"),
                ),
            ),
            (
                'items = [Coffee(name="espresso", shots=2), Coffee(name="espresso", shots=2, decaf=True)]\n'
                'items.append(Pastry(name="croissant", warmed=True, spread="butter"))\n'
                "order = Order(lines=[Line(quantity=1, item=item) for item in items])",
            ),
        ),
        "iced": CaseScript(
            (
                answer(
                    line(
                        "coffee",
                        "americano",
                        3,
                        size="small",
                        heat="iced",
                        sweeteners=[{"name": "honey", "amount": "regular"}],
                    )
                ),
            ),
            (
                'honey = Sweetener(name="honey")\n'
                'americano = Coffee(name="americano", size="small", heat="iced", sweeteners=[honey])\n'
                "order = Order(lines=[Line(quantity=3, item=americano)])",
            ),
        ),
        "changed mind": CaseScript(
            (
                answer(
                    line(
                        "tea",
                        "chai",
                        milk="almond",
                        sweeteners=[{"name": "sugar", "amount": "extra"}],
                    )
                ),
            ),
            (
                'sugar = Sweetener(name="sugar", amount="extra")\n'
                'chai = Tea(name="chai", milk="almond", sweeteners=[sugar])\n'
                "order = Order(lines=[Line(quantity=1, item=chai)])",
            ),
        ),
        "topping": CaseScript(
            (
                answer(
                    line(
                        "milk drink",
                        "cappuccino",
                        heat="extra hot",
                        toppings=[{"name": "cinnamon", "amount": "extra"}],
                    )
                ),
            ),
            (
                'cinnamon = Topping(name="cinnamon", amount="extra")\n'
                'drink = MilkDrink(name="cappuccino", heat="extra hot", toppings=[cinnamon])\n'
                "order = Order(lines=[Line(quantity=1, item=drink)])",
            ),
        ),
        "pizza": refusal("pizza"),
        "syrup": refusal("rose syrup"),
        "nonsense": refusal("wozzle"),
    },
    Mistake(
        "latte",
        CaseScript(
            (
                answer(
                    line(
                        "milk drink",
                        "latte",
                        size="medium",
                        milk="oat",
                        syrups=[{"flavour": "caramel", "amount": "regular"}],
                    )
                ),
            ),
            (LATTE.replace('"large"', '"medium"').replace('"light"', '"regular"'),),
        ),
        fails=(
            "0.item.size is 'large'",
            "0.item.syrups is [{'flavour': 'caramel', 'amount': 'light'}]",
        ),
    ),
)
