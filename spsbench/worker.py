"""A child process, `python -m MODULE`, that exchanges lines of JSON with its parent.

    with open_worker("spsbench.repair.testing") as worker:                       in the parent
        worker.send({"code": "n = 1"})
        worker.receive(5.0)                           -> {"verdict": "right"}

    channel = open_channel(memory_bytes=2 << 30)                              in the child
    task = channel.receive()
    channel.send({"verdict": "right"})

The child leads a process group, which is killed at the end of the `with`. If the parent ends in any
other way, the pipe to the child closes, and the child kills its group itself. The child's prints go
to the log, never between messages; its standard input is empty.

Not detected: a process that leaves the group (`setsid`) survives, and a child that holds the GIL
does not notice that its parent has ended.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

Message = Mapping[str, Any]

MAX_MESSAGE_BYTES = 64 << 20
_CLEAN_VARIABLES = "PATH HOME LANG LC_ALL SYSTEMROOT TEMP TMP TMPDIR VIRTUAL_ENV"


def make_clean_environment() -> dict[str, str]:
    """Return an environment with the same import path, without keys or settings."""
    kept = {name: os.environ[name] for name in _CLEAN_VARIABLES.split() if name in os.environ}
    path = os.pathsep.join(folder for folder in sys.path if folder)
    return {**kept, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}


class Worker:
    """The parent's side of a connection to a child process (state: the process)."""

    def __init__(
        self,
        module: str,
        folder: Path,
        environment: Mapping[str, str],
        log: IO[bytes] | int = subprocess.DEVNULL,
    ) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        self._received = _read_in_thread(self._process.stdout)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def send(self, message: Message) -> None:
        """Send a message; does nothing if the child has ended."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.write(_encode(message))
            self._process.stdin.flush()

    def receive(self, seconds: float) -> Message | None:
        """Return the next message; None if the child has ended, or has written something else.

        Raises TimeoutError if no message comes in time; the child still runs.
        """
        try:
            return self._received.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError(f"no message within {seconds:g} seconds") from None

    def wait(self) -> int:
        """Wait for a child's end after its last message; return its exit code, -N for signal N."""
        return self._process.wait()

    def kill(self) -> None:
        """Kill the child and all processes in its group."""
        with suppress(OSError, AttributeError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()


@contextmanager
def open_worker(module: str) -> Iterator[Worker]:
    """Start a child in an empty folder, without keys or settings."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Worker(module, Path(folder), make_clean_environment()) as worker,
    ):
        yield worker


class Channel:
    """The child's side of the connection (state: the received messages)."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "wb")
        lines = os.fdopen(os.dup(0), "rb")
        os.dup2(2, 1)
        with open(os.devnull, "rb") as empty:
            os.dup2(empty.fileno(), 0)
        self._received = _read_in_thread(lines, kill_at_end=True)

    def send(self, message: Message) -> None:
        """Send a message to the parent."""
        self._out.write(_encode(message))
        self._out.flush()

    def receive(self) -> Message:
        """Return the parent's next message."""
        message = self._received.get()
        assert message is not None, "at the end of the messages the process ends"
        return message


def open_channel(memory_bytes: int | None = None) -> Channel:
    """Connect this process to its parent, and limit its memory if the system supports it."""
    if memory_bytes is not None:
        with suppress(ImportError, ValueError, OSError):
            import resource

            resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return Channel()


def _encode(message: Message) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _read_in_thread(
    lines: IO[bytes] | None, kill_at_end: bool = False
) -> queue.SimpleQueue[Message | None]:
    assert lines is not None
    received: queue.SimpleQueue[Message | None] = queue.SimpleQueue()

    def read() -> None:
        with lines, suppress(ValueError, RecursionError):  # not JSON, or too deep
            while line := lines.readline(MAX_MESSAGE_BYTES):
                received.put(json.loads(line))
        received.put(None)
        if kill_at_end:
            with suppress(OSError, AttributeError):
                if os.getpgrp() == os.getpid():
                    os.killpg(os.getpid(), signal.SIGKILL)
            os._exit(1)

    threading.Thread(target=read, name="messages", daemon=True).start()
    return received
