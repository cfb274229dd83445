"""Real servers for tests: Redis (or Valkey) and Postgres, each on a free port of the loopback and in a folder of its own.

    with start_redis() as server:
        server.url                  redis://127.0.0.1:40123/0
        server.kill()               SIGKILL
        server.start()              again, on the same port and data

The programs are Debian's (`scripts/install_services.sh`); `find_redis` and `find_postgres` say where they are. Root starts them as an
unprivileged user, as Postgres demands.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

START_SECONDS = 90.0


def find_redis() -> str | None:
    """Return the server's program: that of Valkey or of Redis."""
    return shutil.which("valkey-server") or shutil.which("redis-server")


def find_postgres() -> Path | None:
    """Return the folder with the programs of the newest Postgres."""
    folders = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name)
    )
    if folders:
        return folders[-1]
    found = shutil.which("postgres")
    return Path(found).resolve().parent if found else None


class Service:
    """A server process that can be killed and started again."""

    def __init__(self, url: str, command: list[str], folder: Path, is_ready: Callable[[], bool]):
        self.url = url
        self._command = command
        self._folder = folder
        self._is_ready = is_ready
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_end_with_parent,
                **_run_as(find_unprivileged_user()),
            )
        stops = time.monotonic() + START_SECONDS
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > stops:
                raise RuntimeError((self._folder / "log").read_text()[-2000:])
            time.sleep(0.02)

    def kill(self) -> None:
        """Kill the server and its children with SIGKILL; those of Postgres have groups of their own."""
        assert self._process is not None
        children = _list_children(self._process.pid)
        os.killpg(self._process.pid, signal.SIGKILL)
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        self._process.wait(START_SECONDS)

    def stop(self) -> None:
        """End the server, if it runs."""
        if self._process is not None and self._process.poll() is None:
            self.kill()


def _list_children(parent: int) -> list[int]:
    """Return the processes that a process has started."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid"], capture_output=True, text=True, check=True)
    pairs = [list(map(int, line.split())) for line in listed.stdout.splitlines()[1:]]
    return [pid for pid, ppid in pairs if ppid == parent]


def _end_with_parent() -> None:
    """In a new process: have Linux kill it when the tests are killed."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def find_unprivileged_user() -> str | None:
    """Return the user as whom root starts servers; None for any other user: as oneself."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "redis", "nobody") if name in names)


@contextmanager
def make_folder() -> Iterator[Path]:
    """Yield a new folder that belongs to the user as whom servers run."""
    folder = Path(tempfile.mkdtemp(prefix="njc-service-"))
    try:
        if user := find_unprivileged_user():
            shutil.chown(folder, user)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def start_redis() -> Iterator[Service]:
    """Yield a server that writes each change to its file before it confirms it."""
    program, port = find_redis(), find_free_port()
    assert program is not None
    with make_folder() as folder:
        command = [program, "--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder)]
        command += ["--save", "", "--appendonly", "yes", "--appendfsync", "always"]

        def is_ready() -> bool:
            return _exchange(port, b"PING\r\n").startswith(b"+PONG")

        yield from _run_service(Service(f"redis://127.0.0.1:{port}/0", command, folder, is_ready))


@contextmanager
def start_postgres() -> Iterator[Service]:
    """Yield a server with an empty database, whose only user needs no password."""
    programs, port = find_postgres(), find_free_port()
    assert programs is not None
    with make_folder() as folder:
        data = folder / "data"
        made = [str(programs / "initdb"), "-D", str(data), "-U", "njc", "-A", "trust", "-N"]
        made += ["--no-instructions", "--locale=C", "-E", "UTF8"]
        user = _run_as(find_unprivileged_user())
        subprocess.run(
            made, check=True, capture_output=True, cwd=folder, timeout=START_SECONDS, **user
        )
        command = [str(programs / "postgres"), "-D", str(data), "-p", str(port), "-k", str(folder)]
        command += ["-h", "127.0.0.1", "-c", "shared_buffers=16MB", "-c", "max_connections=100"]

        def is_ready() -> bool:
            ready = [str(programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
            return subprocess.run(ready, timeout=30).returncode == 0

        url = f"postgresql://njc@127.0.0.1:{port}/postgres"
        yield from _run_service(Service(url, command, folder, is_ready))


def _run_service(service: Service) -> Iterator[Service]:
    try:
        service.start()
        yield service
    finally:
        service.stop()


def _run_as(user: str | None) -> dict[str, object]:
    if user is None:
        return {}
    found = pwd.getpwnam(user)
    return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}


def _exchange(port: int, command: bytes) -> bytes:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(command)
            return connection.recv(100)
    except OSError:
        return b""


def find_free_port() -> int:
    """Return a port of the loopback that no server has now."""
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
