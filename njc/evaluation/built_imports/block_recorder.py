"""Recording the last run of a block in a process of a test command.

    NJC_TRACE_BLOCK={"file": "/tmp/x/shop.py", "first": 12, "last": 20, "folder": "/tmp/y"}

At the end of the process, by an exit, `os._exit`, an interrupt or SIGTERM, the steps are written to a file in the
folder; forked processes do the same. Not detected: processes that another signal kills.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import signal
from contextlib import suppress
from types import CodeType, FrameType
from typing import NoReturn

from njc.evaluation.execution_trace import StepRecorder


def record_block(settings: str) -> None:
    """Record the lines of a block from now on, and write the steps at the end of the process."""
    block = json.loads(settings)
    traced: str = block["file"]

    @functools.cache
    def is_traced(code: CodeType) -> bool:
        return os.path.realpath(code.co_filename) == traced

    recorder = StepRecorder(
        is_traced, has_calls=True, lines=range(block["first"], block["last"] + 1)
    )

    started = os.urandom(4).hex()  # of a later process of the same number, another one

    @atexit.register
    def write() -> None:
        recorder.stop()
        trace = recorder.make_trace()
        if trace.reached:
            path = os.path.join(block["folder"], f"{os.getpid()}-{started}.json")
            with suppress(OSError), open(path, "w", encoding="utf-8") as file:
                json.dump(trace.to_json(), file)

    def interrupt(number: int, frame: FrameType | None) -> None:
        write()
        signal.default_int_handler(number, frame)

    def terminate(number: int, frame: FrameType | None) -> None:
        write()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    leave = os._exit  # as processes of `multiprocessing` and of pytest-xdist end

    def write_and_leave(status: int) -> NoReturn:
        write()
        leave(status)

    os._exit = write_and_leave
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, terminate)
    recorder.start()
