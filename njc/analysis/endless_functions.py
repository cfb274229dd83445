"""Functions that never return, and calls of them.

    sys.exit("no input")                never_returns: True
    def fail(text): raise Error(text)   find_functions_without_end: {"fail": True}

Not detected: functions of other files, other than the best known ones.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from njc.frontend.name_resolution import FunctionDefinition
from njc.frontend.parse import Module

_WITHOUT_END = frozenset(
    {"exit", "quit", "sys.exit", "os._exit", "os.abort", "assert_never", "typing.assert_never"}
    | {"pytest.fail", "pytest.skip", "pytest.xfail", "pytest.exit"}
    | {"self.fail", "self.skipTest", "parser.error", "parser.exit"}
)


def never_returns(value: ast.expr, without_end: Mapping[str, bool]) -> bool:
    """Return whether a statement is a call, awaited or not, that only an exception can end.

    `without_end` are the functions of the file that never return, from `find_functions_without_end`.
    """
    call = value.value if isinstance(value, ast.Await) else value
    if not isinstance(call, ast.Call):
        return False
    match call.func:
        case ast.Name(id=name):
            return name in _WITHOUT_END or without_end.get(name, False)
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            method = owner in ("self", "cls") and without_end.get(f".{name}", False)
            return f"{owner}.{name}" in _WITHOUT_END or method
    return False


def find_functions_without_end(module: Module) -> dict[str, bool]:
    """Find the functions at the top of the file, and the methods by `.name`, that never return.

    They are annotated so, or every path through them raises; abstract methods do not count. If several definitions
    share a name, all of them must agree.
    """
    found: dict[str, bool] = {}
    waiting: list[tuple[ast.stmt, str]] = [(statement, "") for statement in module.tree.body]
    while waiting:
        statement, prefix = waiting.pop()
        if isinstance(statement, ast.ClassDef):
            waiting += [(inner, ".") for inner in statement.body]
        elif isinstance(statement, FunctionDefinition):
            name = prefix + statement.name
            found[name] = found.get(name, True) and is_without_end(statement)
    return found


def is_without_end(function: FunctionDefinition) -> bool:
    """Return whether a function never returns, by its annotation or its code."""
    returns = function.returns
    if isinstance(returns, (ast.Name, ast.Attribute, ast.Constant)):
        named = ast.unparse(returns).strip("\"'").rpartition(".")[2]
        if named in ("NoReturn", "Never"):
            return True
    last = function.body[-1]
    if not isinstance(last, ast.Raise) or "NotImplementedError" in ast.unparse(last):
        return False
    ends = (ast.Return, ast.Yield, ast.YieldFrom)
    return not any(isinstance(node, ends) for node in ast.walk(function))
