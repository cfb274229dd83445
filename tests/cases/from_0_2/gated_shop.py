# compiled by njc 0.2.0 from gated_shop.njpy (sha256 559188b3b1270054, options 30c31fb3656dbd44, abi 1)
# do not edit: change gated_shop.njpy and build again
import njrt as _nj
import njrt


@njrt.gated
def pay(amount: int) -> str:
    return f"paid {amount}"


def settle(amounts: list[int]) -> list[str]:
    receipts: list[str] = []
    _nj.run(
        """natural(policy="contained")
    Call <pay> for each of <amounts> and append the results to <receipts>.
    """,
        lambda: (pay, amounts, receipts),
        at="gated_shop.njpy:11",
        policy="contained",
        project={"max_calls": 20},
    )
    return receipts


# njc lines 1=1 4:1 15=11 16:12 18=11 23:14 24=15 sha256 3a416d54fc3e4916
