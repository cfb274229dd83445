"""The process that forks the children: it starts clean, and never holds any of the program's data.

    python -I -S -c "... main()"      stdin is a socket; each socket that arrives there gets a child

It imports the modules that the code may import, has only the time zone in its environment, and
drops root privileges. A child sets its limits, closes everything but its socket, and installs the
filter before it reads the code.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import platform
import resource
import signal
import socket
import sys
import traceback
from contextlib import suppress

from njrt.execution.contained import wire
from njrt.execution.contained.child import Child
from njrt.execution.contained.contents import StateError
from njrt.execution.contained.known import CHILD_MODULES
from njrt.execution.contained.seccomp import build_filter, install_filter
from njrt.execution.contained.wire import Connection, WireError

MEMORY_BYTES = 1024 * 1024 * 1024
_NOBODY = 65534
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4


def main() -> None:
    """Serve until the program ends."""
    control = socket.socket(fileno=os.dup(0))
    for name in sorted(CHILD_MODULES):
        with suppress(ImportError):
            importlib.import_module(name)
    _warm_up()
    sys.path.clear()
    drop_rights()
    program = build_filter(platform.machine())
    if program is None:
        raise SystemExit(f"no filter of system calls for {platform.machine()}")
    check_filter(program)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()  # what a child's collector does not visit stays shared memory
    gc.set_threshold(100_000, 20, 100)
    control.sendall(b"ready\n")
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 8, 1)
        if not message:
            return
        process = os.fork()
        if process == 0:
            control.close()
            try:
                run_child(descriptors[0], program, int.from_bytes(message, "big"))
            finally:
                os._exit(0)
        handle = os.pidfd_open(process)
        socket.send_fds(control, [b"started\n"], [handle])
        os.close(handle)
        for descriptor in descriptors:
            os.close(descriptor)


def check_filter(program: bytes) -> None:
    """Raise `SystemExit` if the kernel refuses the filter, which is tried in another process."""
    process = os.fork()
    if process == 0:
        try:
            install_filter(program)
            os._exit(0)
        except OSError:
            os._exit(1)
    if os.waitpid(process, 0)[1] != 0:
        raise SystemExit("this kernel has no filters of system calls (seccomp)")


def _warm_up() -> None:
    """Load modules that Python would load on first use, because a child cannot open files."""
    for name in ("_strptime", "encodings.idna", "encodings.latin_1", "encodings.utf_16"):
        importlib.import_module(name)
    traceback.format_exception_only(ValueError("x"))
    ctypes.CDLL(None)


def drop_rights() -> None:
    """Become `nobody` if this process is root and the system allows it."""
    if os.geteuid() == 0:
        with suppress(OSError):
            os.setgroups([])
            os.setresgid(_NOBODY, _NOBODY, _NOBODY)
            os.setresuid(_NOBODY, _NOBODY, _NOBODY)


def run_child(descriptor: int, program: bytes, seconds: int) -> None:
    """Run a piece of code in this process, which ends with the code."""
    library = ctypes.CDLL(None)
    library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    library.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    os.dup2(descriptor, 3)
    os.closerange(4, 4096)
    for number in (0, 1, 2):
        os.close(number)
    for kind, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_NOFILE, 0),
    ):
        resource.setrlimit(kind, (most, most))
    channel = socket.socket(fileno=3)
    wire.IS_CHILD = True
    install_filter(program)
    connection = Connection(channel)
    try:
        Child(connection).run()
    except (WireError, OSError):
        return
    except StateError as error:
        connection.send(["refused", str(error)])
    except BaseException as error:
        connection.send(["crashed", f"{type(error).__name__}: {error}"])


if __name__ == "__main__":
    main()
