"""The program in a reply, completed by what the reply leaves out of the program to repair."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from njc.compiler.frontend.name_resolution import collect_bindings, find_first_line

_FENCE = "```"


def find_program(text: str, entry_point: str) -> str:
    """Return the last piece of code, preferably one defining `entry_point`; empty without code."""
    blocks = []
    # A piece that was cut off ends where the text ends.
    for piece in text.replace("\r\n", "\n").split(_FENCE)[1::2]:
        language, newline, code = piece.partition("\n")
        is_python = language.strip().lower() in ("", "python", "py", "python3")
        if newline and is_python and code.strip():
            blocks.append(code.rstrip() + "\n")
    complete = [block for block in blocks if entry_point in find_defined_names(block)]
    return (complete or blocks or [""])[-1]


def find_defined_names(code: str) -> frozenset[str]:
    """Return the names bound by a program's top-level statements; none if it is not Python."""
    return frozenset(name for _, names in _list_definitions(code) for name in names)


def complete_program(code: str, program: str) -> str:
    """Add the program's imports and definitions that the reply leaves out."""
    bound = find_defined_names(code)
    missing = [text for text, names in _list_definitions(program) if names - bound]
    if not missing or not bound:
        return code
    first = [text for text, _ in _list_definitions(code) if text.startswith("from __future__ ")]
    for text in first:
        code = code.replace(text, "", 1)
    return "\n".join(dict.fromkeys([*first, *missing, code]))


def _list_definitions(code: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield a program's top-level statements, and the names that each binds."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return
    lines = code.split("\n")
    for statement in tree.body:
        text = "\n".join(lines[find_first_line(statement) - 1 : statement.end_lineno])
        yield text, collect_bindings(ast.Module([statement], []), None).bound
