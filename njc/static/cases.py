"""The cases that a program has for a function, for `njc eval` and for who writes its code.

    mail.njpy                   the program
    mail.route.cases.jsonl      the cases of its function `route`

Cases are examples, not a part of a block's meaning: a new case makes no code stale.
"""

from __future__ import annotations

from pathlib import Path

from njrt.data.private_files import read_file

MAX_CASES = 3
MAX_CHARS = 1_000
"""The most characters of a case that a writer is shown."""


def name_case_file(program: Path, function: str) -> Path:
    """Return the file with the cases of a program's function."""
    return program.with_name(f"{program.stem}.{function}.cases.jsonl")


def read_shown_cases(program: Path, block: str) -> str:
    """Return the first short cases of the function of a block, `mail.njpy:route#2`; "" if none."""
    file = name_case_file(program, block.rpartition(":")[2].partition("#")[0])
    if not file.is_file():
        return ""
    lines = read_file(file).decode("utf-8", "replace").split("\n")
    short = [line.strip() for line in lines if line.strip() and len(line) <= MAX_CHARS]
    return "\n".join(short[:MAX_CASES])
