"""Recording the last run of a block in a test command's process.

    NJC_TRACE_BLOCK={"file": "/tmp/x/shop.py", "first": 12, "last": 20, "folder": "/tmp/y"}

When the process ends by an exit, `os._exit`, an interrupt or SIGTERM, the steps are written to a
file in the folder; forked processes do the same. Not detected: processes killed by another signal.
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

from njc.measure.execution_trace import StepRecorder


def record_block(settings: str) -> None:
    """Record a block's lines from now on, and write the steps when the process ends."""
    block = json.loads(settings)
    traced: str = block["file"]

    @functools.cache
    def is_traced(code: CodeType) -> bool:
        return os.path.realpath(code.co_filename) == traced

    recorder = StepRecorder(is_traced, lines=range(block["first"], block["last"] + 1))

    started = os.urandom(4).hex()  # differs for a later process with the same PID

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

    leave = os._exit  # how `multiprocessing` and pytest-xdist processes end

    def write_and_leave(status: int) -> NoReturn:
        write()
        leave(status)

    os._exit = write_and_leave
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, terminate)
    recorder.start()
