"""Programs that pay in a loop of model-written code are killed at any moment: each order is paid once."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

PROGRAM = Path(__file__).parents[1] / "gated_program.py"
ORDERS = 30
KILLS = 25


def run_killed(folder: Path, policy: str, seconds: float) -> bool:
    """Run the program, and kill it after this time in its block; return whether it was killed before its end."""
    command = [sys.executable, str(PROGRAM), str(folder), policy, str(ORDERS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        return process.wait() != 0


def settle_with_kills(folder: Path, policy: str, chance: random.Random, most: int) -> int:
    """Kill a program until it has paid all orders; return how often."""
    kills = 0
    while run_killed(folder, policy, chance.uniform(0.03, 0.2) if kills < most else 60):
        kills += 1
    ledger = [line.split() for line in (folder / "ledger.txt").read_text().splitlines()]
    expected = [f"receipt-{order}" for order in range(ORDERS)]
    assert [receipt for _, receipt in ledger] == expected
    assert len({key for key, _ in ledger}) == ORDERS
    assert (folder / "receipts.txt").read_text().split("\n") == expected
    return kills


def test_each_order_is_paid_once(policy: str, tmp_path: Path) -> None:
    chance = random.Random(policy)
    kills, job, began = 0, 0, time.monotonic()
    while kills < KILLS:
        folder = tmp_path / str(job)
        folder.mkdir()
        kills += settle_with_kills(folder, policy, chance, most=KILLS - kills)
        job += 1
        assert time.monotonic() - began < 240


def test_a_full_disk_pays_nothing_twice(policy: str, tmp_path: Path) -> None:
    ends = []
    for size in range(1000, 2500, 250):  # in each line after the reply; the whole has 2,379 bytes
        folder = tmp_path / str(size)
        folder.mkdir()
        command = [sys.executable, str(PROGRAM), str(folder), policy, "3"]
        for more in ([str(size)], [str(size + 100)], [str(10**9)]):
            end = subprocess.run([*command, *more], capture_output=True, text=True, timeout=60)
            ends.append(end.returncode)
            is_told = "cannot write the recording" in end.stderr
            assert not end.returncode or is_told, end.stderr
        ledger = [line.split()[1] for line in (folder / "ledger.txt").read_text().splitlines()]
        assert ledger == ["receipt-0", "receipt-1", "receipt-2"]
    assert ends.count(1) > 5
