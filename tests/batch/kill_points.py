"""Kill `njc batch` at chosen points with SIGKILL, let the same command go on, and say how that ended.

    python kill_points.py FOLDER end store.BatchStore.export:call:1 -- --vendor-batch openai --poll 0.1
        {"point": "end", "first": 0, "last": 0}
        {"point": "store.BatchStore.export:call:1", "first": -9, "last": 0}        one line for each point

A point is an event in a function of njc/batch, for the how many-th time: `call` and `return` of the function, `c_call` and
`c_return` of what it calls that is written in C, such as a statement of SQLite or a file operation. At the point `end`
nothing is killed: passed.txt then has all points of the run, in order. FOLDER has one folder for each point, named by
its place in the command, with prog.njpy and rows.jsonl. Every run is a process forked from this one, which has imported
everything.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

IMPORTED = (
    "njc.commands.production.batch", "njc.hook", "njc.compiler", "genai_prices", "pydantic", "njrt.models.openai",
    "njrt.models.anthropic", "openai.resources.batches", "openai.resources.files", "openai.resources.chat",
    "anthropic.resources.messages.batches", "njrt.session.run_block", "njrt.session.session",
)  # fmt: skip

END = "end"
"""The point that no run passes."""

OURS = f"{os.sep}njc{os.sep}batch{os.sep}"


class PointCounter:
    """Counts the points that a process passes, and kills it at one (state: the points)."""

    def __init__(self, point: str) -> None:
        self._point = point
        self._counts: Counter[str] = Counter()
        self.passed: list[str] = []

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if OURS in code.co_filename:
            name = f"{Path(code.co_filename).stem}.{code.co_qualname}:{event}"
            self._counts[name] += 1
            self.passed.append(f"{name}:{self._counts[name]}")
            if self.passed[-1] == self._point:
                os.kill(os.getpid(), signal.SIGKILL)


def run_command(folder: Path, flags: list[str], point: str | None) -> int:
    """Run the command in a process of its own; its exit code, negative for a signal.

    Nothing is counted without a point.
    """
    child = os.fork()
    if not child:
        os.chdir(folder)
        handle = os.open("printed.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        sys.argv[1:] = ["batch", "prog.njpy:sort_mail", "rows.jsonl", "-o", "out.jsonl", *flags]
        counter = PointCounter(point or END)
        if point is not None:
            threading.setprofile(counter)
            sys.setprofile(counter)
        code = 99
        try:
            importlib.import_module("njc.cli").main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 98
        finally:
            sys.setprofile(None)
            if point is not None:
                Path("passed.txt").write_text("\n".join(counter.passed))
            Path("modules.txt").write_text(" ".join(sys.modules))
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def main() -> None:
    """Kill at the points of the command line."""
    end = sys.argv.index("--")
    folder, points, flags = Path(sys.argv[1]), sys.argv[2:end], sys.argv[end + 1 :]
    for name in IMPORTED:
        importlib.import_module(name)
    for number, point in enumerate(points):
        place = folder / str(number)
        first = run_command(place, flags, point)
        time.sleep(0.1)  # the server answers a request whose client is gone
        last = run_command(place, flags, None) if first else first
        for name in (place / "modules.txt").read_text().split():
            with suppress(Exception):  # so that the next processes need not import them
                importlib.import_module(name)
        print(json.dumps({"point": point, "first": first, "last": last}), flush=True)


if __name__ == "__main__":
    main()
