"""Python statements as expressions, for the effect set `shared-eval`, which only evaluates.

total = price * 2                  (total := price * 2)
enemy.health -= 3                  setattr(enemy, 'health', enemy.health - 3)
stock["tea"] = 1                   stock.update({'tea': 1})
for word in words: out.append(1)   [[out.append(1)] for word in words]
def double(n): return n * 2        (double := lambda n: n * 2)
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from spsbench.script import UnsupportedCodeError


def to_expressions(statements: Iterable[ast.stmt]) -> list[str]:
    """Return the statements as equivalent expressions, one for each."""
    return [to_expression(statement) for statement in statements]


def to_expression(statement: ast.stmt) -> str:
    """One statement as an equivalent expression."""
    match statement:
        case ast.Expr(value):
            return ast.unparse(value)
        case ast.Pass():
            return "None"
        case ast.Assign([target], value):
            return make_assignment_expression(target, ast.unparse(value))
        case ast.AugAssign(target, operator, value):
            return make_assignment_expression(
                target, ast.unparse(ast.BinOp(target, operator, value))
            )
        case ast.For(target, values, body, []):
            inner = ", ".join(to_expressions(body))
            return f"[[{inner}] for {ast.unparse(target)} in {ast.unparse(values)}]"
        case ast.FunctionDef(name, parameters, [ast.Return(ast.expr() as value)]):
            return f"({name} := lambda {ast.unparse(parameters)}: {ast.unparse(value)})"
        case _:
            raise UnsupportedCodeError(f"no expression is equivalent to `{ast.unparse(statement)}`")


def make_assignment_expression(target: ast.expr, value: str) -> str:
    """Return the expression that stores `value` where an assignment to `target` would."""
    match target:
        case ast.Name(name):
            return f"({name} := {value})"
        case ast.Attribute(owner, name):
            return f"setattr({ast.unparse(owner)}, {name!r}, {value})"
        case ast.Subscript(owner, ast.Slice(None, None, None)):
            items = ast.unparse(owner)
            return f"[kept := {value}, {items}.clear(), {items}.extend(kept)]"
        case ast.Subscript(owner, key) if not isinstance(key, ast.Slice):
            return f"{ast.unparse(owner)}.update({{{ast.unparse(key)}: {value}}})"
        case _:
            raise UnsupportedCodeError(f"no expression assigns to `{ast.unparse(target)}`")
