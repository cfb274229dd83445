"""Writing a file as a whole: a process that is killed leaves the old file or the new one."""

from __future__ import annotations

import os
from pathlib import Path


def replace_file(path: Path, data: bytes) -> None:
    """Write a file, or replace it."""
    temporary = path.with_name(f"{path.name}.tmp")
    with temporary.open("wb") as opened:
        opened.write(data)
        opened.flush()
        os.fsync(opened.fileno())
    os.replace(temporary, path)
