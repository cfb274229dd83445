# compiled by njc 0.2.0 from menu/natural.njpy (sha256 5d09bad6d3c0ad14, options cc2447ed8334793a, code bdeb4c5f64fe2d31, abi 1)
# do not edit: change menu/natural.njpy and build again
# no code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local) is used: the blocks run live
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
        at="menu/natural.njpy:6",
        effects="answer",
    )
    for dish, quantity in sold.items():
        inventory[dish] -= quantity


# njc lines 1=1 5:1 6=2 8:2 13=6 15:7 17=6 23:9 25=11 sha256 3ff2217835116c4c
