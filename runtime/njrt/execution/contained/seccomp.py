"""A child's system call filter, as a program for the kernel (seccomp-bpf).

    build_filter("x86_64")      bytes; None for machines without a table here
    install_filter(program)     from here on, irreversibly

Allowed are reading and writing open files (the child has only its socket), memory, clocks, and
exiting. Every other call fails with EPERM, so that no file, process, thread, socket or signal can
be reached.

The format is defined in linux/filter.h and linux/seccomp.h; the call numbers come from the kernel's
tables.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterable

MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""The column in the table of calls, and the kernel's number for the architecture (AUDIT_ARCH)."""

_ALLOWED_CALLS = """
    read 0 63, write 1 64, recvfrom 45 207, sendto 44 206, close 3 57, poll 7 -, ppoll 271 73,
    brk 12 214, mmap 9 222, munmap 11 215, mremap 25 216, mprotect 10 226, madvise 28 233,
    futex 202 98, clock_gettime 228 113, clock_getres 229 114, gettimeofday 96 169, time 201 -,
    nanosleep 35 101, clock_nanosleep 230 115, getrandom 318 278, getpid 39 172, gettid 186 178,
    getrusage 98 165, sched_yield 24 124, sched_getaffinity 204 123, rt_sigaction 13 134,
    rt_sigprocmask 14 135, rt_sigreturn 15 139, sigaltstack 131 132, restart_syscall 219 128,
    rseq 334 293, membarrier 324 283, exit 60 93, exit_group 231 94
"""
"""Name, number on x86_64, number on aarch64."""

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, KILL, FAIL = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER_OFFSET, _ARCHITECTURE_OFFSET = 0, 4
X32_CALLS = 0x40000000
"""The first call number of the x32 interface."""
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2

Instruction = tuple[int, int, int, int]
"""Operation, instructions to skip if true, instructions to skip if false, operand."""


def build_filter(machine: str) -> bytes | None:
    """Return the filter for a machine named by `platform.machine()`, or None if it has no table."""
    if machine not in MACHINES:
        return None
    column, architecture = MACHINES[machine]
    numbers = [line.split()[1 + column] for line in _ALLOWED_CALLS.split(",")]
    instructions = [(AT_LEAST, 0, 1, X32_CALLS), (RETURN, 0, 0, FAIL | errno.EPERM)]
    for number in numbers:
        if number != "-":
            instructions += [(EQUAL, 0, 1, int(number)), (RETURN, 0, 0, ALLOW)]
    return assemble(architecture, [*instructions, (RETURN, 0, 0, FAIL | errno.EPERM)])


def assemble(architecture: int, instructions: Iterable[Instruction]) -> bytes:
    """Return a program that tests call numbers; calls of other architectures kill the process."""
    head = (
        (LOAD, 0, 0, _ARCHITECTURE_OFFSET),
        (EQUAL, 1, 0, architecture),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, _NUMBER_OFFSET),
    )
    return b"".join(struct.pack("<HBBI", *each) for each in (*head, *instructions))


def install_filter(program: bytes) -> None:
    """Filter this process's calls from now on; raise OSError if the kernel has no filters."""
    import ctypes

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))

    library = ctypes.CDLL(None, use_errno=True)
    filters = Program(len(program) // 8, program)
    for call in (
        (_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        (_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(filters), 0, 0),
    ):
        arguments = [
            argument if not isinstance(argument, int) else ctypes.c_ulong(argument)
            for argument in call[1:]
        ]
        if library.prctl(call[0], *arguments) != 0:
            number = ctypes.get_errno()
            raise OSError(number, "this kernel has no filters of system calls (seccomp)")
