"""Measure `njc batch --vendor-batch` against loopback servers: requests per reply, waves, lost rows, memory by rows.

    python bench/batch_waves.py [VENDOR...] [ROWS...]       default: openai anthropic 100 1000 10000

A good server (up to 1,000 rows) answers every request, a bad one late, out of order, partly failed, expired, twice or not at all. Each row has
two blocks. `waves` is the highest number of times that requests were sent for a row; `fewest` is the lowest possible number: as
often as the server had to be asked for the two replies of that row.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "servers"), str(ROOT / "tests" / "batch")]

from batch_workplace import FOREIGN, PROGRAM, expect, reply  # noqa: E402

from batch_servers import AnthropicBatchServer, BatchFaults, OpenAIBatchServer  # noqa: E402

SERVERS = {
    "openai": (OpenAIBatchServer, "openai/gpt-4.1"),
    "anthropic": (AnthropicBatchServer, "anthropic/claude-sonnet-4-6"),
}
FAULTS = {
    "good": BatchFaults(seed=7, polls=4),
    "bad": BatchFaults(seed=7, failed=0.03, expired=0.03, missing=0.02, duplicated=0.2, polls=4),
}
MEASURED = (
    "import runpy, sys; sys.argv[0] = 'njc'\n"
    "try:\n    runpy.run_module('njc', run_name='__main__')\n"
    # ru_maxrss would start at the value of the parent process, with the servers in it.
    "finally:\n    sys.stderr.write('peak ' + open('/proc/self/status').read().partition('VmHWM:')[2])"
)


def find_fewest_waves(asked: Counter[str]) -> int:
    """Return the highest number of successive requests for a row."""
    by_row: Counter[str] = Counter()
    for body, times in asked.items():
        (number,) = set(re.findall(r"mail (\d+)", body))
        by_row[number] += times
    return max(by_row.values())


def measure(vendor: str, faults: str, count: int, folder: Path) -> str:
    """Run one batch; return its line of the table."""
    (folder / "prog.njpy").write_text(PROGRAM)
    rows = (json.dumps({"mail": f"mail {number}"}) for number in range(count))
    (folder / "rows.jsonl").write_text("\n".join(rows))
    make_server, model = SERVERS[vendor]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    arguments = ["batch", "prog.njpy:sort_mail", "rows.jsonl", "-o", "out.jsonl", "--fresh"]
    began = time.monotonic()
    with make_server(reply, FAULTS[faults]) as server:
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, *arguments, "--vendor-batch", vendor, "--poll", "0.1"],
            cwd=folder,
            env=kept | server.environment | {"NJC_MODEL": model},
            capture_output=True,
            text=True,
            check=False,
        )
    seconds = time.monotonic() - began
    lines = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    wrong = [line for line in lines if line.get("result") != expect(line["index"])]
    doubled = sum(times - 1 for times in server.answered.values())
    ratio = sum(server.asked.values()) / len(server.answered)
    peak = int(re.findall(r"peak\s+(\d+)", done.stderr)[-1]) / 1024
    waves = re.findall(r"([\d,]+) batches, ([\d,]+) waves", done.stderr)[-1]
    for line in wrong[:3]:
        print(json.dumps(line), file=sys.stderr)
    return (
        f"{vendor:9}  {faults:6}  {count:6,}  {len(lines) - len(wrong):6,}  {count - len(lines):4}  {doubled:7}  {ratio:18.3f}  "
        f"{waves[0]:>7}  {waves[1]:>5}  {find_fewest_waves(server.asked):6}  {peak:7.0f}  {seconds:7.1f}"
    )


def main() -> None:
    """Run the batches, and print a table."""
    counts = [int(word) for word in sys.argv[1:] if word.isdecimal()] or [100, 1000, 10000]
    vendors = [word for word in sys.argv[1:] if not word.isdecimal()] or list(SERVERS)
    print(
        "vendor     server    rows   right  lost  doubled  requests per reply  batches  waves  fewest  peak MB  seconds"
    )
    for vendor in vendors:
        for count in counts:
            for faults in FAULTS if count <= 1000 else ["bad"]:
                with tempfile.TemporaryDirectory() as folder:
                    print(measure(vendor, faults, count, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
