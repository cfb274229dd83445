"""Calling `njc debug` with commands from a pipe, and a program for it."""

from __future__ import annotations

from collections.abc import Callable

from click.testing import Result

Debug = Callable[..., Result]

SCRIPTED = '''\
import njrt
from njrt.models.scripted import Scripted, run


def double(number):
    """natural
    Double <number> into <:doubled>.
    """
    return doubled


def main():
    total = 0
    """natural
    Add <double> of 4 to <:total>.
    """
    print("total", total)


CODES = [
    ("partial = double(4)\\nprint('half done')\\n1 / 0", False),
    ("doubled = number * 2", True),
    ("total = partial", True),
    ("total = 5", True),
]
model = Scripted([run(code, done=done) for code, done in CODES])
with njrt.using(model=model):
    main()
'''


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
