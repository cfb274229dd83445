"""What must be so after `njc batch` was killed at a point and has gone on.

list_points("openai", folder)                                  ["rows.check_rows:call:1", ...]
kill_at("openai", folder, ["store.BatchStore.export:call:1"])  {"store.BatchStore.export:call:1": KilledRun(True, "")}
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from batch_workplace import FOREIGN, PROGRAM, expect, reply
from kill_points import END

from batch_servers import AnthropicBatchServer, BatchFaults, OpenAIBatchServer

SERVERS = {"openai": OpenAIBatchServer, "anthropic": AnthropicBatchServer}
MODELS = {"openai": "openai/gpt-4.1", "anthropic": "anthropic/claude-sonnet-4-6"}
ROWS = 3
SCRIPT = Path(__file__).with_name("kill_points.py")


@dataclass(frozen=True)
class KilledRun:
    """Whether a run came to its point and was killed there, and what was wrong after the next one."""

    was_killed: bool
    problem: str


def list_points(vendor: str, folder: Path) -> list[str]:
    """Return the points of a run that is not killed, in order."""
    run = kill_at(vendor, folder, [END])[END]
    assert run == KilledRun(False, "")
    return (folder / "0" / "passed.txt").read_text().splitlines()


def kill_at(vendor: str, folder: Path, points: Sequence[str]) -> dict[str, KilledRun]:
    """Kill a batch of its own at each of the points, and run it again."""
    rows = [range(ROWS * number, ROWS * (number + 1)) for number in range(len(points))]
    for number, row_numbers in enumerate(rows):
        place = folder / str(number)
        place.mkdir(parents=True)
        (place / "prog.njpy").write_text(PROGRAM)
        lines = (json.dumps({"mail": f"mail {row}"}) + "\n" for row in row_numbers)
        (place / "rows.jsonl").write_text("".join(lines))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    flags = ["--", "--vendor-batch", vendor, "--poll", "0.1"]
    with SERVERS[vendor](reply, BatchFaults(polls=1)) as server:
        done = subprocess.run(
            [sys.executable, str(SCRIPT), str(folder), *points, *flags],
            env=kept | server.environment | {"NJC_MODEL": MODELS[vendor]},
            capture_output=True,
            text=True,
            check=False,
            timeout=240 + 60 * len(points),
        )
        asked_again = {
            int(row)
            for body, times in server.asked.items()
            if times > 1
            for row in re.findall(r"mail (\d+)", body)
        }
    assert done.returncode == 0, done.stderr
    found = {}
    for number, line in enumerate(map(json.loads, done.stdout.splitlines())):
        problem = ""
        results = (folder / str(number) / "out.jsonl").read_text().splitlines()
        wanted = [expect(row) for row in rows[number]]
        if line["last"] or [json.loads(text).get("result") for text in results] != wanted:
            problem = f"exit code {line['last']}, {results}"
        elif again := asked_again & set(rows[number]):
            problem = f"asked again: {again}"
        found[line["point"]] = KilledRun(line["first"] == -signal.SIGKILL, problem)
    return found
