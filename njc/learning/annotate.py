"""A run of code, written into the code: what each line made of the variables, as a comment behind it.

    for price in prices:                # (1) price = 3; (3) price = 4; ... (9) price = 8
        if total + price > limit:
            break                       # not reached
        total += price                  # (2) total = 3; (4) total = 7; ... (8) total = 15

The numbers are those of the steps. Models find a mistake in such a text that they overlook in the code.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

_MAX_VISITS = 3
"""Visits of one line that are shown: the first ones and the last."""


@dataclass(frozen=True, slots=True)
class LineStep:
    """One visit of a line: what is different after it, or the exception that it ended by."""

    line: int
    said: str


def annotate_code(code: str, steps: Sequence[LineStep]) -> str:
    """Write the steps of a run as comments into its code."""
    visits: defaultdict[int, list[str]] = defaultdict(list)
    for number, step in enumerate(steps, 1):
        visits[step.line].append(f"({number}) {step.said}" if step.said else "")
    reachable = {node.lineno for node in ast.walk(ast.parse(code)) if isinstance(node, ast.stmt)}
    lines = code.rstrip("\n").split("\n")
    width = min(max(map(len, lines), default=0), 60)
    shown = []
    for number, line in enumerate(lines, 1):
        comment = _format_comment(visits[number]) if number in visits else ""
        if not comment and number in reachable and number not in visits:
            comment = "not reached"
        shown.append(f"{line:{width}}  # {comment}" if comment else line)
    return "\n".join(shown)


def _format_comment(visits: Sequence[str]) -> str:
    said = [visit for visit in visits if visit]
    if len(said) <= _MAX_VISITS:
        return "; ".join(said)
    return f"{'; '.join(said[: _MAX_VISITS - 1])}; ... {said[-1]}"
