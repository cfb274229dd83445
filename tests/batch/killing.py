"""What must be so after `njc batch` was killed at a point and has gone on.

kill_at("openai", folder, [0])              {0: KilledRun(points=1042, problem="")}
kill_at("openai", folder, [17, 200])        {17: KilledRun(points=17, problem=""), ...}
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from batch_workplace import FOREIGN, PROGRAM, expect, reply

from batch_servers import AnthropicBatchServer, BatchFaults, OpenAIBatchServer

SERVERS = {"openai": OpenAIBatchServer, "anthropic": AnthropicBatchServer}
MODELS = {"openai": "openai/gpt-4.1", "anthropic": "anthropic/claude-sonnet-4-6"}
ROWS = 3
SCRIPT = Path(__file__).with_name("kill_points.py")


@dataclass(frozen=True)
class KilledRun:
    """The points that a run passed until it was killed or ended, and what was wrong after the second one."""

    points: int
    problem: str


def kill_at(vendor: str, folder: Path, points: Iterable[int]) -> dict[int, KilledRun]:
    """Kill a batch of its own at each of the points, and run it again."""
    points = list(points)
    rows = {point: range(ROWS * number, ROWS * (number + 1)) for number, point in enumerate(points)}
    for point, numbers in rows.items():
        place = folder / str(point)
        place.mkdir(parents=True)
        (place / "prog.njpy").write_text(PROGRAM)
        lines = (json.dumps({"mail": f"mail {number}"}) + "\n" for number in numbers)
        (place / "rows.jsonl").write_text("".join(lines))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    flags = ["--", "--vendor-batch", vendor, "--poll", "0.1"]
    with SERVERS[vendor](reply, BatchFaults(polls=1)) as server:
        done = subprocess.run(
            [sys.executable, str(SCRIPT), str(folder), *map(str, points), *flags],
            env=kept | server.environment | {"NJC_MODEL": MODELS[vendor]},
            capture_output=True,
            text=True,
            check=False,
            timeout=240 + 60 * len(points),
        )
        asked_again = {
            number
            for body, times in server.asked.items()
            for number in range(ROWS * len(points))
            if times > 1 and f"mail {number}\\" in body
        }
    assert done.returncode == 0, done.stderr
    found = {}
    for line in map(json.loads, done.stdout.splitlines()):
        point, problem = line["point"], ""
        results = (folder / str(point) / "out.jsonl").read_text().splitlines()
        wanted = [expect(number) for number in rows[point]]
        if line["last"] or [json.loads(text).get("result") for text in results] != wanted:
            problem = f"exit code {line['last']}, {results}"
        elif again := asked_again & set(rows[point]):
            problem = f"asked again: {again}"
        found[point] = KilledRun(line["points"], problem)
    return found
