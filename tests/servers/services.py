"""A real Redis (or Valkey) for tests, on a free port of the loopback and in a folder of its own.

    with start_redis() as server:
        server.url                  redis://127.0.0.1:40123/0
        server.kill()               SIGKILL
        server.start()              again, on the same port and data

The program is Debian's (`scripts/install_services.sh`); `find_redis` says where it is.
"""

from __future__ import annotations

import ctypes
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

START_SECONDS = 90.0


def find_redis() -> str | None:
    """Return the server's program: that of Valkey or of Redis."""
    return shutil.which("valkey-server") or shutil.which("redis-server")


class Service:
    """A server that can be killed and started again; it writes each change to its file before it confirms it."""

    def __init__(self, folder: Path) -> None:
        program = find_redis()
        assert program is not None
        self._port = find_free_port()
        self.url = f"redis://127.0.0.1:{self._port}/0"
        self._log = folder / "log"
        self._command = [program, "--bind", "127.0.0.1", "--port", str(self._port)]
        self._command += ["--dir", str(folder), "--save", ""]
        self._command += ["--appendonly", "yes", "--appendfsync", "always"]

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )
        stops = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > stops:
                raise RuntimeError(self._log.read_text()[-2000:])
            time.sleep(0.02)

    def kill(self) -> None:
        """Kill the server with SIGKILL, if it runs."""
        self._process.kill()
        self._process.wait(START_SECONDS)

    def _answers(self) -> bool:
        with (
            suppress(OSError),
            socket.create_connection(("127.0.0.1", self._port), timeout=10) as connection,
        ):
            connection.sendall(b"PING\r\n")
            return connection.recv(100).startswith(b"+PONG")
        return False


@contextmanager
def start_redis() -> Iterator[Service]:
    with tempfile.TemporaryDirectory(prefix="njc-service-", ignore_cleanup_errors=True) as folder:
        service = Service(Path(folder))
        service.start()
        try:
            yield service
        finally:
            service.kill()


def _end_with_parent() -> None:
    """In a new process: have Linux kill it when the tests are killed."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def find_free_port() -> int:
    """Return a port of the loopback that no server has now."""
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
