"""The type that the statements after a block give to an output without a type.

    def count(text: str) -> int:
        (a block with <:n>)
        print(n)
        return n                    the output `n` is an int
    size: float = n                 the same: `n` is a float

Only the block's own suite counts, up to a statement that binds the variable, that may jump, or
that is a block: up to there, no test of the value can have left. Not detected: types by calls, and
behind branches.
"""

from __future__ import annotations

import ast

from njc.compiler.analysis.types import Typed
from njc.compiler.frontend.blocks import NaturalBlock
from njc.compiler.frontend.name_resolution import Definition, NameScope

_JUMPS = ast.Return | ast.Raise | ast.Break | ast.Continue | ast.Yield | ast.YieldFrom


def find_stated_type(block: NaturalBlock, name: str) -> Typed | None:
    """Return the type that the next statements state for an output, as written, or None."""
    scope = block.scope
    for statement in block.following:
        match statement:
            case ast.Return(value=ast.Name(id=used)) if used == name:
                returns = getattr(scope.node, "returns", None)
                is_result = scope.kind in ("function", "async function")
                return Typed(returns, scope.signature_scope) if is_result and returns else None
            case ast.AnnAssign(annotation=annotation, value=ast.Name(id=used)) if used == name:
                return Typed(annotation, scope)
        if _may_jump(statement) or _binds(statement, name, scope):
            return None
    return None


def _may_jump(statement: ast.stmt) -> bool:
    """Return whether a statement may leave the suite, except by an exception of what it calls."""
    if isinstance(statement, Definition):
        return False
    match statement:
        case ast.Expr(value=ast.Constant(value=str()) | ast.JoinedStr()):
            return True  # perhaps a block
    return any(isinstance(node, _JUMPS) for node in ast.walk(statement))


def _binds(statement: ast.stmt, name: str, scope: NameScope) -> bool:
    lines = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
    return any(each.lineno in lines for each in scope.bindings.statements.get(name, ()))
