"""Run tests as on a slow machine: any of their processes stops for a while, again and again, and threads begin late.

    python tests/stress.py tests/batch --times 5 --options="-x -k killed"
    python tests/stress.py                                          the folders `slow`

A test that fails here and not otherwise waits for a time where it must wait for a state, or expects two processes or
threads to do things in an order that nothing enforces; or the product does. Linux only: the processes are found in /proc.
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parents[1]


def list_descendants(pid: int) -> list[int]:
    """Return a process and all that it has started, as far as their parents live."""
    children: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        with suppress(OSError, ValueError, IndexError):
            stat = Path(entry.path, "stat").read_text()
            children.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry.name))
    found = [pid]
    for parent in found:
        found += children.get(parent, [])
    return found


def pause_processes(
    pid: int, pick: random.Random, longest: float, stopped: threading.Event
) -> None:
    """Stop one process of the tree after the other, for up to `longest` seconds."""
    while not stopped.wait(pick.uniform(0, 0.3)):
        chosen = pick.choice(list_descendants(pid))
        with suppress(OSError):
            os.kill(chosen, signal.SIGSTOP)
            try:
                stopped.wait(longest * pick.random() ** 3)
            finally:
                os.kill(chosen, signal.SIGCONT)


def pytest_configure() -> None:
    """Let threads of the tests' own process begin late, and the thread that starts one go on late."""
    pick, start, run = random.Random(), threading.Thread.start, threading.Thread.run

    def start_slowly(thread: threading.Thread) -> None:
        start(thread)
        time.sleep(pick.choice((0, 0, 0.001, 0.02)))

    def run_slowly(thread: threading.Thread) -> None:
        time.sleep(pick.choice((0, 0, 0.001, 0.02)))
        run(thread)

    threading.Thread.start, threading.Thread.run = start_slowly, run_slowly  # type: ignore[method-assign]
    sys.setswitchinterval(1e-4)


def main() -> int:
    """Run pytest on the chosen files several times; the number of runs that failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="*", help="files, folders or tests [tests/*/slow]")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--longest", type=float, default=3.0, help="seconds of a pause, at most")
    parser.add_argument("--options", default="-x", help="for pytest, in one argument")
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    paths = chosen.paths or [str(path) for path in sorted((ROOT / "tests").rglob("slow"))]
    failed = 0
    for seed in range(chosen.seed, chosen.seed + chosen.times):
        options = shlex.split(chosen.options)
        command = [sys.executable, "-m", "pytest", "-p", "stress", *options, *paths]
        search = os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
        running = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": search})
        stopped = threading.Event()
        pauses = threading.Thread(
            target=pause_processes,
            args=(running.pid, random.Random(seed), chosen.longest, stopped),
        )
        pauses.start()
        try:
            failed += running.wait() != 0
        finally:
            stopped.set()
            pauses.join()
            running.terminate()
        print(f"seed {seed}: exit code {running.returncode}; {failed} failed so far", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
