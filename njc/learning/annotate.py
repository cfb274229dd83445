"""A run of code as comments in the code: the values that each line gave to the variables.

    for price in prices:                # (1) price = 3; (3) price = 4; ... (9) price = 8
        if total + price > limit:
            break                       # not reached
        total += price                  # (2) total = 3; (4) total = 7; ... (8) total = 15

The numbers are those of the steps. Models find mistakes in such a text that they overlook in the code alone.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

_MAX_VISITS = 3
"""Runs of one line that are shown: the first ones and the last."""


@dataclass(frozen=True, slots=True)
class LineStep:
    """One run of a line: the variables that it changed, or the exception that it raised."""

    line: int
    changes: str


def annotate_code(code: str, steps: Sequence[LineStep]) -> str:
    """Write the steps of a run as comments into its code."""
    visits: defaultdict[int, list[str]] = defaultdict(list)
    for number, step in enumerate(steps, 1):
        visits[step.line].append(f"({number}) {step.changes}" if step.changes else "")
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
    texts = [visit for visit in visits if visit]
    if len(texts) <= _MAX_VISITS:
        return "; ".join(texts)
    return f"{'; '.join(texts[: _MAX_VISITS - 1])}; ... {texts[-1]}"
