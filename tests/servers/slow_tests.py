"""The files of tests that `make test` leaves out, as listed in tests/slow_tests.txt."""

from __future__ import annotations

from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent.parent


@cache
def list_slow_files() -> frozenset[Path]:
    """Return the files of tests that only `make test-slow` runs."""
    lines = (TESTS / "slow_tests.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(TESTS / line for line in lines if not line.startswith("#"))
