"""The limits of a sandboxed process: memory, processes, processor time, and user.

    apply_limits(Limits())          in the sandbox, before the program starts

The limits are set with setrlimit(2): memory and processor time are limited per process, processes per user. The
memory of several processes adds up: a common limit would need a control group, which the sandbox does not create.
"""

from __future__ import annotations

import os

from njrt.records import fields, record

try:
    import resource
except ImportError:  # Windows, which has no sandbox
    resource = None  # type: ignore[assignment]

NOBODY = 65534


@record
class Limits:
    """A sandbox's limits."""

    memory: int = 4096
    """MiB of memory per process, and of files in /tmp."""
    processes: int = 256
    """Processes and threads."""
    cpu_seconds: int = 3600
    """Seconds of processor time per process."""
    user: int = 0
    """The user to become, without any groups; 0 to keep the current user."""

    def __str__(self) -> str:
        return ",".join(str(getattr(self, limit.name)) for limit in fields(self))


def parse_limits(text: str) -> Limits:
    """Read the output of `str`."""
    return Limits(*map(int, text.split(",")))


def apply_limits(limits: Limits) -> None:
    """Limit this process and its children permanently."""
    for kind, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_AS, limits.memory * 1024 * 1024),
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_NPROC, limits.processes),
    ):
        _, hard = resource.getrlimit(kind)
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (value, value))
    if limits.user:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(limits.user, limits.user, limits.user)
