"""Recording the last run of a block in a test command's process.

    NJC_TRACE_BLOCK={"file": "/tmp/x/shop.py", "first": 12, "last": 20, "folder": "/tmp/y"}

The steps are written to the process's file in the folder whenever the block's lines are left, when
there are as many as are kept, and when the process exits. Forked processes do the same. Not
detected: the end of a shorter run that a signal or `os._exit` ends with its process.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
from contextlib import suppress
from pathlib import Path
from types import CodeType

from njc.measure.execution_trace import StepRecorder
from njrt.data.private_files import replacing


def record_block(settings: str) -> None:
    """Record a block's lines from now on."""
    block = json.loads(settings)
    traced: str = block["file"]
    started = os.urandom(4).hex()  # differs for a later process with the same PID

    @functools.cache
    def is_traced(code: CodeType) -> bool:
        return os.path.realpath(code.co_filename) == traced

    @atexit.register
    def write() -> None:
        trace = recorder.make_trace()
        if trace.reached:
            path = Path(block["folder"], f"{os.getpid()}-{started}.json")
            with suppress(OSError), replacing(path) as file:
                file.write(json.dumps(trace.to_json()).encode("utf-8", "replace"))

    lines = range(block["first"], block["last"] + 1)
    recorder = StepRecorder(is_traced, lines=lines, left=write)
    recorder.start()
