"""What can contain code: Linux with CPython and seccomp."""

from __future__ import annotations

import platform
import sys

from njrt.execution.contained.seccomp import build_filter


def find_obstacle() -> str | None:
    """Return why this system cannot contain code, or None."""
    if sys.platform != "linux":
        return "it needs the system-call filters of Linux"
    if build_filter(platform.machine()) is None:
        return f"there is no filter of system calls for {platform.machine()}"
    if not sys.executable:
        return "the path of Python's executable is not known"
    if sys.implementation.name != "cpython":
        return f"it needs CPython, not {sys.implementation.name}"
    return None
