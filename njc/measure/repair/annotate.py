"""A run of code as comments in the code: the values that each line assigned.

    for price in prices:                # (1) price = 3; (3) price = 4; ... (9) price = 8
        if total + price > limit:
            break                       # not reached
        total += price                  # (2) total = 3; (4) total = 7; ... (8) total = 15

The numbers are step numbers. In such a text, models find mistakes that they overlook in the code
alone.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Sequence

from njc.measure.execution_trace import ExecutionTrace

_MAX_VISITS = 3
"""The number of executions to show per line: the first ones and the last."""
MAX_COMMENT_CHARS = 300
_STEP_COMMENT = re.compile(r"#\s*(?:\(\d+\) .*|not reached)")


def annotate_code(
    code: str, trace: ExecutionTrace, first_line: int = 1, *, max_chars: int = MAX_COMMENT_CHARS
) -> str:
    """Return the code with a run's steps as comments.

    Args:
        code: the code; raises SyntaxError if it is not Python.
        trace: the steps, with line numbers of the file.
        first_line: the number of the code's first line in the file.
        max_chars: the maximum length of a comment.
    """
    visits: defaultdict[int, list[str]] = defaultdict(list)
    for number, step in enumerate(trace.steps, 1):
        visits[step.line].append(f"({number}) {step.changes}" if step.changes else "")
    known = trace.reached | visits.keys()
    offset = first_line - 1
    statements = {
        node.lineno + offset
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.stmt) and _is_traceable(node)
    }
    lines = code.rstrip("\n").split("\n")
    width = min(max(map(len, lines), default=0), 60)
    shown = []
    for number, line in enumerate(lines, first_line):
        comment = _format_comment(visits[number], max_chars) if number in visits else ""
        if number in statements and number not in known:
            comment = "not reached"
        shown.append(f"{line:{width}}  # {comment}" if comment else line)
    return "\n".join(shown)


def remove_step_comments(code: str) -> str:
    """Return code without step comments, which models tend to copy; unchanged if not Python."""
    lines = code.split("\n")
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type == tokenize.COMMENT and _STEP_COMMENT.fullmatch(token.string):
                row, column = token.start
                lines[row - 1] = lines[row - 1][:column].rstrip()
    except (tokenize.TokenError, SyntaxError):
        return code
    return "\n".join(lines)


def _is_traceable(statement: ast.stmt) -> bool:
    """Return whether a statement is certain to be traced; docstrings and declarations are not."""
    match statement:
        case ast.Expr(ast.Constant()) | ast.AnnAssign(value=None) | ast.Global() | ast.Nonlocal():
            return False
        case _:
            return not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)


def _format_comment(visits: Sequence[str], max_chars: int) -> str:
    texts = [visit for visit in visits if visit]
    if len(texts) > _MAX_VISITS:
        texts = [*texts[: _MAX_VISITS - 2], texts[_MAX_VISITS - 2] + "; ... " + texts[-1]]
    comment = "; ".join(texts)
    return comment if len(comment) <= max_chars else f"{comment[:max_chars]}..."
