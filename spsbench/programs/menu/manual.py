"""Take orders in a restaurant, as long as there is something left."""

from spsbench.llm import llm


def sell(order: str, inventory: dict[str, int]) -> None:
    sold = llm(
        f"How many of each dish does the customer's order take?\n\nOrder: {order}",
        {
            "type": "object",
            "properties": {dish: {"type": "integer"} for dish in inventory},
        },
    )
    for dish, quantity in sold.items():
        inventory[dish] -= quantity
