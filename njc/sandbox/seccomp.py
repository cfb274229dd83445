"""The sandbox's filter for system calls, as a program for the kernel (seccomp-bpf).

    build_filter("x86_64")      bytes for `bwrap --seccomp FD`; None for machines without a table here

The filter rejects mounting, namespaces, tracing and reading other processes, keys, BPF, performance counters,
io_uring, kernel modules, clocks and other machine settings; sockets other than Unix, IPv4, IPv6 and netlink; typing
into the terminal; files that run with their owner's rights (setuid). All other calls are allowed: the filter makes
less of the kernel reachable, but does not replace the other parts of the sandbox.

The format is from linux/filter.h and linux/seccomp.h; the call numbers are from the kernel's tables.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator

from njrt.execution.contained import seccomp as bpf

_REFUSED_CALLS = """
    acct 163 89, add_key 248 217, adjtimex 159 171, bpf 321 280, chroot 161 51, clock_adjtime 305 266,
    clock_settime 227 112, delete_module 176 106, fanotify_init 300 262, finit_module 313 273, fsconfig 431 431,
    fsmount 432 432, fsopen 430 430, fspick 433 433, init_module 175 105, io_uring_enter 426 426,
    io_uring_register 427 427, io_uring_setup 425 425, ioperm 173 -, iopl 172 -, kcmp 312 272,
    kexec_file_load 320 294, kexec_load 246 104, keyctl 250 219, lookup_dcookie 212 18, memfd_secret 447 447,
    migrate_pages 256 238, mount 165 40, mount_setattr 442 442, move_mount 429 429, move_pages 279 239,
    name_to_handle_at 303 264, nfsservctl 180 42, open_by_handle_at 304 265, open_tree 428 428,
    perf_event_open 298 241, personality 135 92, pidfd_getfd 438 438, pivot_root 155 41, process_madvise 440 440,
    process_vm_readv 310 270, process_vm_writev 311 271, ptrace 101 117, quotactl 179 60, quotactl_fd 443 443,
    reboot 169 142, request_key 249 218, setdomainname 171 162, sethostname 170 161, setns 308 268,
    settimeofday 164 170, swapoff 168 225, swapon 167 224, syslog 103 116, umount2 166 39, unshare 272 97,
    uselib 134 -, userfaultfd 323 282, vhangup 153 58
"""
"""Calls that fail with EPERM: name, number on x86_64, number on aarch64."""

_MISSING_CALLS = "clone3 435 435, openat2 437 437"
"""Calls with arguments that a filter cannot read; they fail with ENOSYS, so that libraries use the older calls."""

_MODE_CALLS = """
    chmod 90 - 1, fchmod 91 52 1, fchmodat 268 53 2, fchmodat2 452 452 2, open 2 - 2, openat 257 56 3, creat 85 - 1,
    mknod 133 - 1, mknodat 259 33 2
"""
"""Calls with a file mode, and the index of that argument."""

_SOCKET_CALLS = "socket 41 198, socketpair 53 199"
_ALLOWED_FAMILIES = (1, 2, 10, 16)  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK
_CLONE_CALL = "clone 56 220"
_NAMESPACE_FLAGS = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_IOCTL_CALL = "ioctl 16 29"
_TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_SET_ID_BITS = 0o6000

_ARGUMENTS_OFFSET = 16


def build_filter(machine: str) -> bytes | None:
    """Return the filter for a machine, named as by `platform.machine()`; None if there is no table for it."""
    if machine not in bpf.MACHINES:
        return None
    column, architecture = bpf.MACHINES[machine]
    return bpf.assemble(architecture, _list_instructions(column))


def _list_instructions(column: int) -> Iterator[bpf.Instruction]:
    if column == 0:  # the x32 interface has other call numbers
        yield bpf.AT_LEAST, 0, 1, bpf.X32_CALLS
        yield bpf.RETURN, 0, 0, bpf.FAIL | errno.ENOSYS
    for table, code in ((_REFUSED_CALLS, errno.EPERM), (_MISSING_CALLS, errno.ENOSYS)):
        for number, _ in _read_table(table, column):
            yield bpf.EQUAL, 0, 1, number
            yield bpf.RETURN, 0, 0, bpf.FAIL | code
    for number, argument in _read_table(_MODE_CALLS, column):
        yield from _check_argument(number, argument, [(bpf.ANY_BIT, _SET_ID_BITS)], errno.EPERM)
    for number, _ in _read_table(_CLONE_CALL, column):
        yield from _check_argument(number, 0, [(bpf.ANY_BIT, _NAMESPACE_FLAGS)], errno.EPERM)
    for number, _ in _read_table(_IOCTL_CALL, column):
        tests = [(bpf.EQUAL, request) for request in _TERMINAL_INPUT]
        yield from _check_argument(number, 1, tests, errno.EPERM)
    for number, _ in _read_table(_SOCKET_CALLS, column):
        yield bpf.EQUAL, 0, len(_ALLOWED_FAMILIES) + 3, number
        yield bpf.LOAD, 0, 0, _ARGUMENTS_OFFSET
        for position, family in enumerate(_ALLOWED_FAMILIES):
            yield bpf.EQUAL, len(_ALLOWED_FAMILIES) - position, 0, family
        yield bpf.RETURN, 0, 0, bpf.FAIL | errno.EAFNOSUPPORT
        yield bpf.RETURN, 0, 0, bpf.ALLOW
    yield bpf.RETURN, 0, 0, bpf.ALLOW


def _check_argument(
    number: int, argument: int, tests: list[tuple[int, int]], code: int
) -> Iterator[bpf.Instruction]:
    """Fail a call if its argument passes one of the tests; otherwise allow it."""
    yield bpf.EQUAL, 0, len(tests) + 3, number
    yield bpf.LOAD, 0, 0, _ARGUMENTS_OFFSET + 8 * argument
    for position, (operation, operand) in enumerate(tests):
        yield operation, len(tests) - position, 0, operand
    yield bpf.RETURN, 0, 0, bpf.ALLOW
    yield bpf.RETURN, 0, 0, bpf.FAIL | code


def _read_table(table: str, column: int) -> Iterator[tuple[int, int]]:
    """Yield the number of each call on this machine, and the index of the checked argument."""
    for line in table.split(","):
        _, *numbers = line.split()
        if numbers[column] != "-":
            yield int(numbers[column]), int(numbers[2]) if len(numbers) > 2 else 0
