"""How often the test of canaries raises a false alarm, and how soon a true one: simulated streams of canaries.

    python tests/drift/canary_simulation.py                  10,000 streams of 500 canaries of each kind
    python tests/drift/canary_simulation.py --streams 500

A stream is a run of `DifferenceHistory` and `compute_evidence`, as in production, on differences drawn at a rate.
"""

from __future__ import annotations

import argparse
import random
import statistics
from dataclasses import dataclass

from njrt.production.canary.sequential_test import DifferenceHistory, compute_evidence


@dataclass(frozen=True)
class SimulatedStreams:
    """How many streams had an alarm, and after how many canaries."""

    streams: int
    alarms: int
    delays: tuple[int, ...]

    @property
    def median_delay(self) -> float | None:
        return statistics.median(self.delays) if self.delays else None


def simulate(
    *,
    rate: float,
    tolerated: float,
    false_alarms: float,
    streams: int,
    length: int,
    seed: int,
    change_at: int = 0,
) -> SimulatedStreams:
    """Draw differences at `rate` after `change_at` canaries without one; delays count from there."""
    generator = random.Random(seed)
    before = DifferenceHistory()
    for _ in range(change_at):
        before = before.add(False)
        assert compute_evidence(before, tolerated) < 1 / false_alarms
    delays = []
    for _ in range(streams):
        history = before
        for number in range(1, length + 1):
            is_different = generator.random() < rate
            history = history.add(is_different)
            if is_different and compute_evidence(history, tolerated) >= 1 / false_alarms:
                delays.append(number)
                break
    return SimulatedStreams(streams, len(delays), tuple(delays))


KINDS = [
    ("never more than tolerated", 0.05, 0),
    ("exactly the tolerated share", 0.1, 0),
    ("from the beginning", 0.2, 0),
    ("from the beginning", 0.3, 0),
    ("from the beginning", 0.6, 0),
    ("after 200 equal ones", 0.3, 200),
    ("after 1,000 equal ones", 0.6, 1000),
]


def main() -> None:
    parser = argparse.ArgumentParser(description="Simulate streams of canaries.")
    parser.add_argument("--streams", type=int, default=10_000)
    parser.add_argument("--length", type=int, default=500)
    parser.add_argument("--tolerated", type=float, default=0.1)
    parser.add_argument("--false-alarms", type=float, default=0.01)
    given = parser.parse_args()
    print(f"tolerated {given.tolerated}, false alarms {given.false_alarms}")
    print(
        f"{'differences':30} {'rate':>5} {'streams':>8} {'alarms':>8} {'share':>8} {'median':>7} {'90 %':>6}"
    )
    for name, rate, change_at in KINDS:
        found = simulate(
            rate=rate,
            tolerated=given.tolerated,
            false_alarms=given.false_alarms,
            streams=given.streams,
            length=given.length,
            seed=1,
            change_at=change_at,
        )
        delays = sorted(found.delays)
        late = delays[int(len(delays) * 0.9)] if delays else ""
        print(
            f"{name:30} {rate:5.2f} {found.streams:8,} {found.alarms:8,} {found.alarms / found.streams:8.4f} "
            f"{found.median_delay or '':>7} {late:>6}",
            flush=True,
        )


if __name__ == "__main__":
    main()
