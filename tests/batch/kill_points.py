"""Kill `njc batch` at chosen points with SIGKILL, let the same command go on, and say how that ended.

    python kill_points.py FOLDER 0 17 200 -- --vendor-batch openai --poll 0.1
        {"point": 0, "first": 0, "points": 1042, "last": 0}
        {"point": 17, "first": -9, "points": 17, "last": 0}        one line for each point

A point is the number of a call or a return in the modules of njc/batch: before and after each statement of SQLite, each file
operation and each request. At point 0 nothing is killed: the run says how many points there are. FOLDER has one folder
for each point, with prog.njpy and rows.jsonl. Every run is a process forked from this one, which has imported everything.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

IMPORTED = (
    "njc.commands.production.batch", "njc.hook", "njc.compiler", "genai_prices", "pydantic", "njrt.models.openai",
    "njrt.models.anthropic", "openai.resources.batches", "openai.resources.files", "openai.resources.chat",
    "anthropic.resources.messages.batches", "njrt.session.drive", "njrt.session.session",
)  # fmt: skip

OURS = f"{os.sep}njc{os.sep}batch{os.sep}"


class PointCounter:
    """Counts the points that a process passes, and kills it at one (state: the count)."""

    def __init__(self, point: int) -> None:
        self.point = point
        self.passed = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if OURS in frame.f_code.co_filename:
            self.passed += 1
            if self.passed == self.point:
                os.kill(os.getpid(), signal.SIGKILL)


def run_command(folder: Path, flags: list[str], point: int | None) -> tuple[int, int]:
    """Run the command in a process of its own; its exit code, negative for a signal, and the points that it passed.

    Nothing is counted without a point.
    """
    child = os.fork()
    if not child:
        os.chdir(folder)
        handle = os.open("printed.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        sys.argv[1:] = ["batch", "prog.njpy:sort_mail", "rows.jsonl", "-o", "out.jsonl", *flags]
        counter = PointCounter(point or 0)
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
            Path("points.txt").write_text(str(counter.passed))
            Path("modules.txt").write_text(" ".join(sys.modules))
            os._exit(code)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    passed = point or 0 if code == -signal.SIGKILL else int((folder / "points.txt").read_text())
    return code, passed


def main() -> None:
    """Kill at the points of the command line."""
    end = sys.argv.index("--")
    folder, points, flags = Path(sys.argv[1]), sys.argv[2:end], sys.argv[end + 1 :]
    for name in IMPORTED:
        importlib.import_module(name)
    for point in map(int, points):
        first, passed = run_command(folder / str(point), flags, point)
        time.sleep(0.1)  # the server answers a request whose client is gone
        last, _ = run_command(folder / str(point), flags, None) if first else (first, 0)
        for name in (folder / str(point) / "modules.txt").read_text().split():
            with suppress(Exception):  # so that the next processes need not import them
                importlib.import_module(name)
        found = {"point": point, "first": first, "points": passed, "last": last}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
