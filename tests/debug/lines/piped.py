"""Calling `njc debug` with commands from a pipe, and a program for it."""

from __future__ import annotations

from collections.abc import Callable

from click.testing import Result

from case_programs import read_program

Debug = Callable[..., Result]

SCRIPTED = read_program("nested_blocks")


def answers(result: Result) -> dict[str, list[str]]:
    """What each command showed; the same command twice has the last."""
    shown: dict[str, list[str]] = {"": []}
    command = ""
    for line in result.output.splitlines():
        if line.startswith("(njc) "):
            command = line.removeprefix("(njc) ")
            shown[command] = []
        else:
            shown[command].append(line)
    return shown
