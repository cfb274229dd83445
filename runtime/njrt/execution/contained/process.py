"""Start the server for contained code, and a child for each piece of code.

    with start_child(seconds=30) as child:      a separate process, killed at the end of the `with`
        child.connection.send(...)

The server starts with the first piece of contained code and ends with the program. A forked program
starts its own.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from njrt.data.records import record
from njrt.errors import PolicyError
from njrt.execution.contained.wire import Connection

_RUNTIME = str(Path(__file__).parent.parent.parent.parent)
_START_SECONDS = 60.0
_ANSWER_SECONDS = 10.0
_MOMENT = struct.pack("ll", 1, 0)
"""The longest socket wait (timeval), so that all threads notice when the code's time ends."""
_start_process = subprocess.Popen  # the program may patch it in `subprocess`


@record
class ChildProcess:
    """A process for one piece of code."""

    connection: Connection
    handle: int
    """A file descriptor for the process (pidfd)."""

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handle, signal.SIGKILL)


class _Server:
    """The process that forks children (state: the process, its control socket)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def start(self) -> None:
        """Start the server unless it is running; raise PolicyError if that is impossible here."""
        with self._lock:
            self._ensure_started()

    def start_child(self, seconds: float) -> ChildProcess:
        """Fork a child with its own socket; raise PolicyError if no server can be started here."""
        ours, theirs = socket.socketpair()
        try:
            with theirs, self._lock:
                handle = self._request_child(theirs.fileno(), seconds)
        except BaseException:
            ours.close()
            raise
        return ChildProcess(Connection(ours), handle)

    def _request_child(self, descriptor: int, seconds: float) -> int:
        limit = max(1, int(min(seconds + 2, 2**31))).to_bytes(8, "big")
        for is_last in (False, True):
            control = self._ensure_started()
            try:
                socket.send_fds(control, [limit], [descriptor])
                message, handles, _, _ = socket.recv_fds(control, 16, 1)
                if message and handles:
                    return handles[0]
            except BaseException as error:  # an interrupted answer is not for the next request
                if is_last or not isinstance(error, OSError):
                    self.stop()
                    raise
            self.stop()
        raise PolicyError("the server of contained code ends as soon as it is started")

    def _ensure_started(self) -> socket.socket:
        if self._control is not None:
            return self._control
        ours, theirs = socket.socketpair()
        command = (
            f"import sys; sys.path.insert(0, {_RUNTIME!r}); import njrt.execution.contained.server"
            " as s; s.main()"
        )
        with theirs:
            self._process = process = _start_process(
                [sys.executable, "-I", "-S", "-X", "utf8", "-c", command],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env={name: it for name, it in os.environ.items() if name == "TZ"},
                cwd="/",
                start_new_session=True,
            )
        ours.settimeout(_START_SECONDS)
        errors = process.stderr
        assert errors is not None
        received = b""
        with suppress(TimeoutError):
            received = ours.recv(16)
        if received != b"ready\n":
            ours.close()
            self.stop()
            with errors:
                lines = errors.read().decode(errors="replace").splitlines()
            reason = lines[-1] if lines else "no reason was given"
            raise PolicyError(f'policy="contained" is not possible here: {reason}')
        errors.close()
        ours.settimeout(_ANSWER_SECONDS)
        self._control = ours
        return ours

    def stop(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def forget(self) -> None:
        """Leave the server to the process that this one was forked from."""
        self._lock = threading.Lock()
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            self._process.returncode = 0  # no warning that it is still running: it is another's
        self._control = self._process = None


_server = _Server()
atexit.register(_server.stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_server.forget)


def start_server() -> None:
    """Start the server before a model is asked; raise PolicyError if code cannot be contained."""
    _server.start()


@contextmanager
def start_child(seconds: float) -> Iterator[ChildProcess]:
    """Start a process for code, limited to this much processor time; it ends with the `with`."""
    child = _server.start_child(seconds)
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        child.connection.channel.setsockopt(socket.SOL_SOCKET, option, _MOMENT)
    try:
        yield child
    finally:
        child.kill()
        os.close(child.handle)
        child.connection.channel.close()
