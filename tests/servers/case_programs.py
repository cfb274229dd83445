"""The programs under tests/cases/programs, each named after the module of tests that runs it."""

from __future__ import annotations

from pathlib import Path

PROGRAMS = Path(__file__).parents[1] / "cases" / "programs"


def read_program(name: str) -> str:
    """Return the text of a program: that of tests/cases/programs/NAME.njpy."""
    return (PROGRAMS / f"{name}.njpy").read_text(encoding="utf-8")
