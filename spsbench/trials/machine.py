"""A run's machine: processor, memory, versions and time. Names of machines and people are left out.

BenchmarkRun(..., **describe_start(jobs=4, executor="processes"))
"""

from __future__ import annotations

import os
import platform
import re
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from spsbench.results import Hardware

REPORTED_PACKAGES = ("njpy", "openai", "anthropic")


def describe_start(jobs: int, executor: str) -> dict[str, Any]:
    """Return the fields of a `RunLine` for a start now on this machine, with this many jobs."""
    return {
        "started": read_timestamp(),
        "jobs": jobs,
        "executor": executor,
        "hardware": Hardware(_read_cpu_name(), os.cpu_count() or 1, _read_memory_gib()),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": read_package_versions(),
    }


def read_timestamp() -> str:
    """Return the current time in ISO 8601, in UTC and whole seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _read_cpu_name() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1].strip() if found else platform.processor() or platform.machine()


def _read_memory_gib() -> float:
    try:
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0.0
    return round(pages * size / 2**30, 1)


def read_package_versions() -> dict[str, str]:
    """Return the versions of those reported packages that are installed."""
    found = {}
    for package in REPORTED_PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
