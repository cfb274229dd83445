"""Imported by Python at its start where this folder is on PYTHONPATH: records the last run of a block.

    NJC_TRACE_BLOCK={"file": "/tmp/x/shop.py", "first": 12, "last": 20, "folder": "/tmp/y"}

When the process ends, by an exit, `os._exit`, an interrupt or SIGTERM, the steps are in a file of the folder; so are
those of processes that it forks. A `sitecustomize` of the program's own is imported before. A process that another signal
ends writes nothing.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import signal
import sys
from contextlib import suppress
from types import CodeType, FrameType
from typing import NoReturn

VARIABLE = "NJC_TRACE_BLOCK"


def record_block(settings: str) -> None:
    """Record the lines of a block from now on, and write the steps at the end of the process."""
    from njc.execution_trace import StepRecorder

    block = json.loads(settings)
    traced: str = block["file"]

    @functools.cache
    def is_traced(code: CodeType) -> bool:
        return os.path.realpath(code.co_filename) == traced

    recorder = StepRecorder(
        is_traced, has_calls=True, lines=range(block["first"], block["last"] + 1)
    )

    @atexit.register
    def write() -> None:
        recorder.stop()
        trace = recorder.make_trace()
        if trace.reached:
            path = os.path.join(block["folder"], f"{os.getpid()}.json")
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


def import_next() -> None:
    """Import the `sitecustomize` that this one hides, if there is one."""
    folder = os.path.dirname(os.path.realpath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.realpath(path or ".") != folder]
    this = sys.modules.pop("sitecustomize")
    with suppress(ModuleNotFoundError):
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    sys.modules.setdefault("sitecustomize", this)  # the import of this one ends with a look at it


if settings := os.environ.get(VARIABLE):
    import_next()
    with suppress(ImportError):  # a Python without njc
        record_block(settings)
