"""Whether this system can contain code: Linux with filters of system calls."""

from __future__ import annotations

import ctypes
import errno
import sys
from functools import cache
from pathlib import Path

from njrt.execution.contained.platforms import find_obstacle

_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2


@cache
def find_system_obstacle() -> str | None:
    """Return why this system cannot contain code, or None."""
    if getattr(sys, "frozen", False) or "python" not in Path(sys.executable).name.lower():
        return "the program that runs is not Python itself, which could run the code"
    return find_obstacle() or (
        None if _has_filters() else "this kernel has no filters of system calls (seccomp)"
    )


def _has_filters() -> bool:
    """Ask the kernel for filters: only one that has them misses the filter that is not given."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    return prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, 0, 0, 0) != 0 and (
        ctypes.get_errno() == errno.EFAULT
    )
