"""The text of results of code, as the model reads it.

mark_printed("3\\n4")                "| 3\\n| 4"
find_result_name("config['key']")   "key"
"""

from __future__ import annotations

import ast


def find_result_name(code: str) -> str:
    """The name in the last expression of some code: of a variable, an attribute or an item; or an empty string."""
    try:
        last = ast.parse(code.strip()).body[-1]
    except (SyntaxError, ValueError, IndexError, RecursionError, MemoryError):
        return ""
    match last:
        case ast.Expr(ast.Name(id=name) | ast.Attribute(attr=name)):
            return name
        case ast.Expr(
            ast.Subscript(slice=ast.Constant(value=str(name)))
            | ast.Call(args=[ast.Constant(value=str(name)), *_])
            | ast.Call(args=[_, ast.Constant(value=str(name)), *_])
        ):
            return name
    return ""


def mark_printed(text: str) -> str:
    """Printed text with `| ` before each line, so that it cannot imitate a value, a message or a fence."""
    return "\n".join(f"| {line}" for line in text.splitlines())


def join_parts(*parts: str) -> str:
    """Return the parts that are not empty, on lines of their own."""
    return "\n".join(part.rstrip("\n") for part in parts if part)
