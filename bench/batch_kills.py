"""Kill `njc batch --vendor-batch` with SIGKILL at its points, and say what was lost or asked twice when it went on.

python bench/batch_kills.py [STEP]       default: every 10th call and return in njc/batch
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "servers"), str(ROOT / "tests" / "batch")]

from killing import SERVERS, kill_at  # noqa: E402


def main() -> None:
    step = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    print("vendor     points  killed at  wrong  seconds")
    for vendor in SERVERS:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            points = kill_at(vendor, folder / "whole", [0])[0].points
            found = kill_at(vendor, folder / "killed", range(1, points + 1, step))
        wrong = {point: run.problem for point, run in found.items() if run.problem}
        seconds = time.monotonic() - began
        print(
            f"{vendor:9}  {points:6,}  {len(found):9,}  {len(wrong):5}  {seconds:7.0f}", flush=True
        )
        for point, problem in wrong.items():
            print(f"  point {point}: {problem}")


if __name__ == "__main__":
    main()
