"""Kill `njc batch --vendor-batch` with SIGKILL in each of its functions; print the rows that were lost or asked twice after a restart.

    python bench/batch_kills.py [POINTS] [FILE]        default: 225 points for each vendor, build/batch-kills.jsonl

One point is chosen in every function of njc/batch that a run calls; the others are spread over the whole run. FILE has
a line for each point at which the command was killed; a later run continues with the other points. Points that a run did not
reach, because it asked the vendor less often, are tried again by the next run.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "servers"), str(ROOT / "tests" / "batch")]

from killing import SERVERS, kill_at, list_points  # noqa: E402

PIECE = 25
"""Points after which the file is written."""


def choose_points(points: Sequence[str], count: int) -> list[str]:
    """Return one point of every function, and others at equal distances, in the order of the run."""
    by_function: dict[str, list[str]] = {}
    for point in points:
        by_function.setdefault(name_function(point), []).append(point)
    chosen = {random.Random(name).choice(passed) for name, passed in by_function.items()}
    more = max(0, count - len(chosen))
    chosen |= {points[number * len(points) // more] for number in range(more)}
    return [point for point in points if point in chosen]


def name_function(point: str) -> str:
    """Return the function of a point."""
    return point.split(":", 1)[0]


def kill_vendor(vendor: str, count: int, file: Path) -> dict[str, str]:
    """Kill at the points that are not in the file yet, and add them; return the problems by point."""
    found: dict[str, str] = {}
    if file.exists():
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        found = {line["point"]: line["problem"] for line in lines if line["vendor"] == vendor}
    with tempfile.TemporaryDirectory() as name:
        points = list_points(vendor, Path(name))
    todo = [point for point in choose_points(points, count) if point not in found]
    for start in range(0, len(todo), PIECE):
        with tempfile.TemporaryDirectory() as name:
            runs = kill_at(vendor, Path(name), todo[start : start + PIECE])
        killed = {point: run.problem for point, run in runs.items() if run.was_killed}
        found |= killed
        with file.open("a") as opened:
            for point, problem in killed.items():
                line = {"vendor": vendor, "point": point, "problem": problem}
                opened.write(json.dumps(line) + "\n")
    return found


def main() -> None:
    """Kill the command for each vendor, and print a table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 225
    file = Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "build" / "batch-kills.jsonl"
    file.parent.mkdir(exist_ok=True)
    print("vendor     killed at  functions  wrong")
    for vendor in SERVERS:
        found = kill_vendor(vendor, count, file)
        wrong = {point: problem for point, problem in found.items() if problem}
        functions = {name_function(point) for point in found}
        print(f"{vendor:9}  {len(found):9,}  {len(functions):9,}  {len(wrong):5}", flush=True)
        for point, problem in wrong.items():
            print(f"  {point}: {problem}")


if __name__ == "__main__":
    main()
