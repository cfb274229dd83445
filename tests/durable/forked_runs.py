"""Functions that run in a child process, which may be killed. No DBOS may be launched in this process."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from polling import poll_often

RUN_SECONDS = 60

ForkRun = Callable[[Callable[[], Any]], Any]


def run_forked(result: Path, function: Callable[[], Any]) -> Any:
    """Return the function's result, the text of its exception, or "killed"."""
    process = os.fork()
    if not process:
        try:
            signal.alarm(RUN_SECONDS)
            poll_often()
            result.write_text(json.dumps(function()))
        except BaseException as error:
            result.write_text(json.dumps(f"{type(error).__name__}: {error}"))
        finally:
            os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return "killed" if status == -signal.SIGKILL else json.loads(result.read_text())


def die() -> None:
    """Kill this process."""
    os.kill(os.getpid(), signal.SIGKILL)
