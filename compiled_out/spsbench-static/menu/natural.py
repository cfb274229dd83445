# compiled by njc 0.1.0 from menu/natural.njpy (sha256 e2037c4a7824691b, options cc2447ed8334793a, code 1d3aabb01715781c, abi 1)
# do not edit: change menu/natural.njpy and build again
"""Take orders in a restaurant, as long as there is something left."""


def sell(order: str, inventory: dict[str, int]) -> None:
    # natural
    # Subtract from <inventory>, in place, what the customer's <order> takes.
    if order not in inventory:
        return
    inventory[order] -= 1
    # end of natural block


# njc lines 1=1 3:1 8=5 13=8 sha256 f1fb3a15a3a294f3
