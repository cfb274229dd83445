# compiled by njc 0.3.0 from menu/natural.njpy (sha256 e2037c4a7824691b, abi 1)
# do not edit: change menu/natural.njpy and build again
"""Take orders in a restaurant, as long as there is something left."""

import njrt as _nj


def sell(order: str, inventory: dict[str, int]) -> None:
    _nj.run(
        """natural
    Subtract from <inventory>, in place, what the customer's <order> takes.
    """,
        lambda: (inventory, order),
        at="menu/natural.njpy:5",
    )


# njc lines 1=1 3:1 4=2 6:2 10=5 11:6 13=5 16=8 sha256 618f6cb35e299b55
