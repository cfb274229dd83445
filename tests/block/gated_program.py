"""A program that pays in a loop of model-written code: gated_program.py FOLDER POLICY ORDERS [BYTES].

It is to be killed, or has a disk that is full after BYTES of each file; then its code tries again.
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

import njrt
from njrt.testing import run

FOLDER, POLICY, COUNT = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
LEDGER = FOLDER / "ledger.txt"


def find_payment(key: str) -> str | None:
    """Look a payment up at the bank."""
    lines = LEDGER.read_text().splitlines() if LEDGER.exists() else []
    return next((line.split()[1] for line in lines if line.split()[0] == key), None)


@njrt.gated(find=find_payment)
def pay(order: int) -> str:
    """Pay for an order."""
    time.sleep(0.002)
    with LEDGER.open("a") as ledger:
        ledger.write(f"{njrt.call_key()} receipt-{order}\n")
    time.sleep(0.002)
    return f"receipt-{order}"


def accept(pending: njrt.PendingEffect) -> njrt.Decision:
    """Decide as a person would."""
    return njrt.Accept()


def settle(orders: list[int]) -> list[str]:
    """Pay each order by a block."""
    receipts: list[str] = []
    njrt.run(
        "natural\nPay each of <orders> by <pay>, and append what it gives to <receipts>.",
        lambda: (orders, receipts, pay),
        at="shop.njpy:12",
        policy=POLICY,
    )
    return receipts


code = "for order in orders:\n    receipts.append(pay(order))"
if sys.argv[4:]:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), resource.RLIM_INFINITY))
    code = """
for order in orders:
    for attempt in range(3):
        try:
            receipts.append(pay(order))
            break
        except Exception as error:
            print(error)
"""
with njrt.using(
    model=njrt.Scripted([run(code, done=True)] * 2),
    record=f"new:{FOLDER / 'job.jsonl'}",
    intercept=accept,
):
    print("started", flush=True)
    receipts = settle(list(range(COUNT)))
(FOLDER / "receipts.txt").write_text("\n".join(receipts))
