"""What can contain code (Linux with CPython and seccomp), and types that cannot be contained."""

from __future__ import annotations

import platform
import sys
from collections import abc
from typing import Any

from njrt.execution.contained.seccomp import build_filter

MADE_BY_CODE: tuple[Any, ...] = (
    *(type, abc.Callable, abc.Iterator, abc.Generator),
    *(abc.AsyncIterator, abc.AsyncGenerator, abc.Awaitable, abc.Coroutine),
)
"""Types of objects that live in the process of their code and cannot be passed to the program."""


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
