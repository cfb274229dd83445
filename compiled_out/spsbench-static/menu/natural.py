# compiled by njc 0.1.0 from menu/natural.njpy (sha256 e2037c4a7824691b, options cc2447ed8334793a, code 25add7e1c5cecfd9, abi 1)
# do not edit: change menu/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local); passes 1 of 4 checks of its program (answered by a script)
"""Take orders in a restaurant, as long as there is something left."""


def sell(order: str, inventory: dict[str, int]) -> None:
    # natural
    # Subtract from <inventory>, in place, what the customer's <order> takes.
    if order not in inventory:
        return
    inventory[order] -= 1
    # end of natural block


# njc lines 1=1 4:1 9=5 14=8 sha256 cd9cca0bceb09d65
