"""A lock on a folder, without a lock file, for several processes that write to it.

with lock_folder(path.parent):        other processes wait here
    ...
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; on systems without such locks (Windows), do nothing."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
