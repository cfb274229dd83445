"""Small programs with one or more natural blocks, what a model replies to them, and what Python demands then.

    [case rebinding]                          ──read_cases──>   Case("rebinding", "7.2 an assignment ...", ...)
    rule: 7.2 an assignment binds the name
    turn: items = [9]
    gives: ([9], [1, 2])
    @natural
    def replace(items): ...

A turn is what the model decides when a block runs, as Python statements; each library is told it in its own protocol.
`gives` is what `check()` returns if each block does exactly what its turn says at its place, `gives` being computed by
Python itself in the tests. Numbers of rules are sections of the language reference of Python 3.13.

`@natural` stands for the decorator of a library that has one, `@natural_inner` for that of a nested function, which
may be asked for on the outer one instead. `outside` is the place of a block that is in no function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "cases"
SUBJECTS = ("scope", "objects", "control")
"""The files of the semantic cases."""

OTHERS = ("positions", "choices")
"""The places where a block may be; what the libraries decided each in its own way, where Python demands nothing."""

_HEAD = re.compile(r"(rule|turn|gives|outside|delay|connections): (.*)\n")


_NATURAL = re.compile(r"@natural(_inner)?\b")


@dataclass(frozen=True)
class Case:
    """One program. `delay` is how many seconds the model takes; its server may keep connections open."""

    name: str
    rule: str
    program: str
    turns: tuple[str, ...]
    gives: str
    outside: str = ""
    delay: float = 0.0
    keeps_connections: bool = False


def read_cases(*subjects: str) -> Iterator[Case]:
    """Yield the cases of the files, in their order."""
    for subject in subjects:
        text = (FOLDER / f"{subject}.txt").read_text(encoding="utf-8")
        for part in text.split("[case ")[1:]:
            name, _, rest = part.partition("]\n")
            yield parse_case(name, rest)


def parse_case(name: str, text: str) -> Case:
    """Read the head of a case; what follows is its program."""
    head: dict[str, list[str]] = {}
    while match := _HEAD.match(text):
        head.setdefault(match[1], []).append(match[2])
        text = text[match.end() :]
    return Case(
        name,
        rule=head["rule"][0],
        program=text.strip("\n") + "\n",
        turns=tuple(head.get("turn", ())),
        gives=head["gives"][0],
        outside=head.get("outside", [""])[0],
        delay=float(head.get("delay", ["0"])[0]),
        keeps_connections="connections" in head,
    )


def decorate(program: str, decorator: str) -> list[str]:
    """The program with the decorator of a library, in each way that its author may write it.

    Below another decorator, or above it; on a nested function, or on the function around it.
    """
    written = [_NATURAL.sub(decorator, program)]
    swapped = re.sub(r"^( *@\S+\n)( *@natural\n)", r"\2\1", program, flags=re.MULTILINE)
    if swapped != program:
        written.append(_NATURAL.sub(decorator, swapped))
    if "@natural_inner" in program:
        bare = strip_decorators(program)
        inner = program[: program.index("@natural_inner")].rstrip(" ")
        start = inner.rindex("def ") if inner.startswith("def ") else inner.rindex("\ndef ") + 1
        written.append(f"{bare[:start]}{decorator}\n{bare[start:]}")
    return written


def strip_decorators(program: str) -> str:
    """The program without the decorators, as njc compiles it."""
    return re.sub(r"^ *@natural(_inner)?\n", "", program, flags=re.MULTILINE)
