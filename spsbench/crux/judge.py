"""Judge answers by running them in a process with limits.

    with Judge() as judge:
        judge.accepts("def f(n):\\n    return n + 1", "4", "f(3)")      True: `assert 4 == f(3)` holds

    {"program": "assert 4 == 3 + 1", "seconds": 3.0}   ──main──>   {"passed": true}

An answer is right by CruxEval's rule if the function and `assert OUTPUT == ANSWER` run without an exception.

The process forks for each program, so that no program affects the next. Programs have limits on time, memory and file
size, no network if the system allows that, and an audit hook (PEP 578) that refuses connections, processes, file
changes and loading C: a barrier against mistakes, not a sandbox. A pass is reported by a random number that the
program does not know, so exiting early is not a pass. Without `fork`, `Judge` starts a process for each program.
"""

from __future__ import annotations

import ctypes
import os
import secrets
import select
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from njc.worker import Worker, make_clean_environment, open_channel

CHECK_SECONDS = 3.0
"""The time limit for one check, the same as in CruxEval's own scorer."""
START_SECONDS = 60.0
"""Extra time allowed for a process on a busy machine."""


class Judge:
    """Checks answers (state: the process that runs them, started when needed)."""

    def __init__(self, seconds: float = CHECK_SECONDS) -> None:
        self._seconds = seconds
        self._verdicts: dict[str, bool] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="spsbench-", ignore_cleanup_errors=True)
        self._worker: Worker | None = None

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        self._folder.cleanup()

    def accepts(self, code: str, output: str, answer: str) -> bool:
        """Return whether an answer is right; repeated questions run only once."""
        program = f"{code}\nassert {output} == {answer}"
        if program not in self._verdicts:
            self._verdicts[program] = self._run(program)
        return self._verdicts[program]

    def _run(self, program: str) -> bool:
        if self._worker is None:
            self._worker = Worker(
                "spsbench.crux.judge", Path(self._folder.name), make_clean_environment()
            )
        try:
            program.encode()
        except UnicodeEncodeError:  # a lone surrogate is not a program
            return False
        self._worker.send({"program": program, "seconds": self._seconds})
        try:
            message = self._worker.receive(self._seconds + START_SECONDS)
        except TimeoutError:
            message = None
        if message is None:
            self._stop()
        return message is not None and message["passed"] is True

    def _stop(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker = None


# ── the process ────────────────────────────────────────────────────────────────────────────────────


MEMORY_BYTES = 2 << 30
FILE_BYTES = 1 << 20
REFUSED_PREFIXES = (
    *("socket.bind", "socket.connect", "socket.get", "socket.send", "socket.set"),
    *("subprocess.", "ctypes.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.kill"),
    *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.link"),
    *("os.symlink", "os.system", "os.truncate", "os.chflags", "os.removexattr", "os.setxattr"),
    *("os.utime", "shutil.", "pty.", "signal.", "ftplib.", "http.", "urllib."),
)
WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000


def refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """Raise `PermissionError` for refused events; an audit hook."""
    is_writing = event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITE_FLAGS
    if is_writing or event.startswith(REFUSED_PREFIXES):
        raise PermissionError(f"{event} is refused")


def leave_network() -> None:
    """Move this process to an empty network namespace, if the system allows it."""
    with suppress(OSError, AttributeError):
        unshare = ctypes.CDLL(None).unshare
        if unshare(CLONE_NEWNET) != 0:
            unshare(CLONE_NEWUSER | CLONE_NEWNET)


def limit_resources(seconds: float) -> None:
    """Limit processor time, memory and files of this process."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run_program(program: str, seconds: float) -> bool:
    """Run a program in this process; return whether it ended without an exception."""
    limit_resources(seconds)
    sys.addaudithook(refuse)
    try:
        exec(compile(program, "<answer>", "exec", dont_inherit=True), {"__name__": "answer"})
    except BaseException:
        return False
    return True


def run_in_fork(program: str, seconds: float) -> bool:
    """Run a program in a child of this process, and kill the child when its time is up."""
    secret = secrets.token_bytes(16)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with suppress(BaseException):
            os.setpgid(0, 0)
            if run_program(program, seconds):
                os.write(writing, secret)
        os._exit(0)
    os.close(writing)
    said, end = b"", time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0 and select.select([reading], [], [], left)[0]:
        piece = os.read(reading, 64)
        said += piece
        if not piece:
            break
    with suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    with suppress(OSError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reading)
    return said == secret


def main() -> None:
    """Serve checks until the parent ends."""
    channel = open_channel()
    leave_network()
    while True:
        task = channel.receive()
        has_fork = hasattr(os, "fork")
        run = run_in_fork if has_fork else run_program
        channel.send({"passed": run(task["program"], task["seconds"])})
        if not has_fork:
            return


if __name__ == "__main__":
    main()
