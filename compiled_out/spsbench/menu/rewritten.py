# compiled by njc 0.3.0 from menu/rewritten.njpy (sha256 5d09bad6d3c0ad14, abi 1)
# do not edit: change menu/rewritten.njpy and build again
# pyright: reportUnboundVariable=false, reportAttributeAccessIssue=false
"""Take orders in a restaurant, as long as there is something left."""

import njrt as _nj


def sell(order: str, inventory: dict[str, int]) -> None:
    dishes: tuple[str, ...] = tuple(inventory)
    sold: dict[str, int]
    _nj.run(
        """natural
    Find out how many of each of the <dishes> the customer's <order> takes: <:sold: dict[str, int]>.
    """,
        lambda: (dishes, order, sold),
        writes="sold",
        types=lambda: {"sold": dict[str, int]},
        at="menu/rewritten.njpy:6",
        effects="answer",
    )
    for dish, quantity in sold.items():
        inventory[dish] -= quantity


# njc lines 1=1 4:1 5=2 7:2 12=6 14:7 16=6 22:9 24=11 sha256 171eff3a9f6e473f
