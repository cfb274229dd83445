"""Find the answer in a reply, and reject answers that are more than values.

    find_output("assert f([1]) == [2]  # as f adds one")     "[2]"
    find_call("[ANSWER]assert f([1]) == [2][/ANSWER]")       "f([1])"

Answers are executed. An output must be a value: literals, operators, and calls to Python's own types. The arguments
of a call may be any expression, as in CruxEval (`lambda x: x < 2`), but without private names, assignments, or names
that give access to the program or the machine. `inf` and `nan` are read as floats.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

CONSTRUCTORS = {
    *("bool", "bytearray", "bytes", "complex", "dict", "float", "frozenset", "int", "list"),
    *("range", "set", "str", "tuple", "Counter", "Decimal", "Fraction", "OrderedDict"),
    *("defaultdict", "deque"),
}
"""Those from modules, such as `Counter`, exist only if the program imports them."""
FORBIDDEN_NAMES = {
    *("breakpoint", "compile", "delattr", "dir", "eval", "exec", "exit", "f", "getattr"),
    *("globals", "help", "input", "locals", "memoryview", "object", "open", "quit", "setattr"),
    *("type", "vars", "builtins", "ctypes", "gc", "importlib", "inspect", "io"),
    *("multiprocessing", "os", "pathlib", "pickle", "posix", "shutil", "signal", "socket"),
    *("subprocess", "sys", "tempfile", "threading"),
}
"""Includes modules that a program may have imported; also refused as attributes: `collections.abc.sys`."""
PLAIN_NODES = (
    *(ast.Expression, ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Starred),
    *(ast.keyword, ast.UnaryOp, ast.BinOp, ast.unaryop, ast.operator, ast.Load),
)
_TAG = re.compile(r"\[ANSWER\](.*?)(?:\[/ANSWER\]|\Z)", re.DOTALL)
_FENCE = re.compile(r"```(?:python)?\n?(.*?)(?:```|\Z)", re.DOTALL)


def find_output(reply: str) -> str | None:
    """Return the value in a reply, bare or on the right side of an assertion, or None."""
    for text in _list_candidates(reply):
        side = _split_assertion(text)
        found = _write_floats(side[1] if side else text)
        node = _parse(found)
        if node is not None and _is_plain_node(node):
            # Parenthesize tuples: in `assert x == 1, 2` the 2 would be a message.
            return ast.unparse(node) if isinstance(node, ast.Tuple) else found
    return None


def _write_floats(text: str) -> str:
    """Return `inf` and `nan`, which Python writes but cannot read, as `float` calls; leave other text unchanged."""
    node = _parse(text)
    names = [part for part in ast.walk(node) if isinstance(part, ast.Name)] if node else []
    if node is None or not any(name.id in ("inf", "nan") for name in names):
        return text
    return ast.unparse(_FloatWriter().visit(node))


class _FloatWriter(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in ("inf", "nan"):
            return node
        return ast.Call(ast.Name("float", ast.Load()), [ast.Constant(node.id)], [])


def find_call(reply: str) -> str | None:
    """Return the call to `f` in a reply, in an assertion, bare, or only its arguments, or None."""
    for text in _list_candidates(reply):
        side = _split_assertion(text)
        for found in (side[0],) if side else (text, f"f({text})"):
            if is_harmless_call(found):
                return _write_floats(found)
    return None


def _list_candidates(reply: str) -> Iterator[str]:
    """Yield texts that may be the answer: tagged or fenced parts, the whole reply, each line."""
    for pattern in (_TAG, _FENCE):
        for found in pattern.findall(reply):
            yield found.strip()
    yield reply.strip()
    yield from (line.strip() for line in reply.splitlines() if line.strip())


def _split_assertion(text: str) -> tuple[str, str] | None:
    """Return the two sides of the last `assert f(...) == ...` in a text, or None."""
    module = _parse_as(text, "exec")
    for statement in reversed(module.body) if isinstance(module, ast.Module) else ():
        test = getattr(statement, "test" if isinstance(statement, ast.Assert) else "value", None)
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
            left, right = test.left, test.comparators[0]
            if not _is_call_of_f(left) and _is_call_of_f(right):
                left, right = right, left
            return ast.unparse(left), ast.unparse(right)
    return None


def _parse(text: str) -> ast.expr | None:
    found = _parse_as(text, "eval")
    return found.body if isinstance(found, ast.Expression) else None


def _parse_as(text: str, mode: str) -> ast.AST | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a reply's `'\['` is not the user's
        try:
            return ast.parse(text, mode=mode)
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return None


def _is_call_of_f(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "f"


def is_harmless_call(text: str) -> bool:
    """Return whether a text is a call to `f` with arguments that cannot influence the judgement."""
    node = _parse(text)
    if not isinstance(node, ast.Call) or not _is_call_of_f(node):
        return False
    return not any(
        isinstance(part, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom))
        or (isinstance(part, ast.Name) and is_forbidden(part.id))
        or (isinstance(part, ast.Attribute) and is_forbidden(part.attr))
        for argument in (*node.args, *node.keywords)
        for part in ast.walk(argument)
    )


def is_forbidden(name: str) -> bool:
    """Return whether a name gives access to more than values."""
    return name.startswith("_") or name in FORBIDDEN_NAMES


def _is_plain_node(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        is_known = isinstance(node.func, ast.Name) and node.func.id in CONSTRUCTORS
        return is_known and all(map(_is_plain_node, (*node.args, *node.keywords)))
    return isinstance(node, PLAIN_NODES) and all(map(_is_plain_node, ast.iter_child_nodes(node)))
