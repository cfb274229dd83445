# compiled by njc 0.3.0 from menu/natural.njpy (sha256 e2037c4a7824691b, options cc2447ed8334793a, code e7da601f0bd4bbd6, abi 1)
# do not edit: change menu/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local)
"""Take orders in a restaurant, as long as there is something left."""

import njrt as _nj


def sell(order: str, inventory: dict[str, int]) -> None:
    # natural
    # Subtract from <inventory>, in place, what the customer's <order> takes.
    llm = _nj.llm_at("menu/natural.njpy:5")
    amount = llm(f"How much does this order cost?\n\n{order}", float)
    inventory[order] -= amount
    # end of natural block


# njc lines 1=1 4:1 5=2 7:2 11=5 16=8 sha256 b9fb43c20c4b1ea8
