"""A block's contract: the asserts that directly follow it, if they only compute.

    \"\"\"natural
    Put into <:plan: Plan> the shortest plan for <wishes>.
    \"\"\"
    assert plan.end > plan.start, "it ends early"
        find_contract(...).texts[0]    'plan.end > plan.start, "it ends early"'
    assert is_possible(plan)    NJ307: `is_possible` may do more than compute

The compiled call gets the texts, and the runtime checks them before the block ends.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator

from njc.compiler.analysis.inference import TypeReader
from njc.compiler.analysis.types import Typed
from njc.compiler.frontend.blocks import NaturalBlock
from njc.compiler.frontend.diagnostics import Diagnostic, make_diagnostic
from njc.compiler.frontend.name_resolution import Global, NameScope, resolve_name
from njc.compiler.frontend.prompt_references import list_variables
from njc.compiler.frontend.source import SourceFile
from njrt.data.records import record
from njrt.execution.computing import METHOD_NAMES, is_computing


@record
class BlockContract:
    """The asserts that a block must satisfy, and the other local variables that they read."""

    texts: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    refused: tuple[tuple[ast.Assert, str], ...] = ()
    """Asserts that cannot be part of it, with the reason."""


NO_CONTRACT = BlockContract()


def find_contract(source: SourceFile, block: NaturalBlock, types: TypeReader) -> BlockContract:
    """Return a block's contract: the asserts about its variables that only compute.

    A block in the body of a class has none.
    """
    if block.scope.kind == "class":
        return NO_CONTRACT
    texts: list[str] = []
    names: list[str] = []
    refused: list[tuple[ast.Assert, str]] = []
    bound: set[str] = set()
    for statement in block.ensures:
        read = list_variables(statement)
        unknown = [f"`{name}` is bound by an assert" for name in read if name in bound]
        nodes = [node for node in ast.walk(statement) if isinstance(node, ast.NamedExpr)]
        bound |= {node.target.id for node in nodes}
        tested = list_variables(statement.test)
        if not any(name in block.names and _may_change(name, block, types) for name in tested):
            continue
        if effect := find_effect(statement, block.scope, types) or next(iter(unknown), None):
            refused.append((statement, effect))
            continue
        texts.append(format_assert(source, statement))
        names += [name for name in read if _is_captured(name, block, types)]
    return BlockContract(tuple(texts), tuple(dict.fromkeys(names)), tuple(refused))


def find_contract_findings(source: SourceFile, contract: BlockContract) -> Iterator[Diagnostic]:
    """Report asserts about a block that cannot be part of its contract."""
    for statement, effect in contract.refused:
        message = f"the assert is not checked as a part of the block: {effect}"
        hint = (
            "a contract has names, attributes, items, operators, builtins that compute, and methods"
            " of Python's own types"
        )
        yield make_diagnostic(source, "NJ307", *source.get_span(statement), message, hint)


def format_assert(source: SourceFile, statement: ast.Assert) -> str:
    """Return an assert on one line, without its first word."""
    parts = [statement.test, *([statement.msg] if statement.msg is not None else [])]
    return ", ".join(_format_part(source, part) for part in parts)


def _format_part(source: SourceFile, part: ast.expr) -> str:
    text = source.text[slice(*source.get_span(part))]
    is_simple = text.isascii() and not set(text) & set("\r\n\f#\\")
    return text if is_simple and not isinstance(part, ast.Tuple) else ast.unparse(part)


def find_effect(statement: ast.Assert, scope: NameScope, types: TypeReader) -> str | None:
    """Return why an assert may do more than compute, if its text shows it."""
    for node in ast.walk(statement):
        match node:
            case ast.NamedExpr(target=target):
                return f"it binds `{target.id}`"
            case ast.Await() | ast.Yield() | ast.YieldFrom() | ast.comprehension(is_async=1):
                return "it waits"
            case ast.Name(id="super"):
                return "it calls `super`"
            case ast.Call(func=function) if not _only_computes(function, scope, types):
                return f"`{ast.unparse(function)}` may do more than compute"
    return None


def _only_computes(function: ast.expr, scope: NameScope, types: TypeReader) -> bool:
    match function:
        case ast.Name(id=name) if types.is_builtin(name, scope):
            return is_computing(getattr(builtins, name, None))
        case ast.Name():
            return _is_computing_import(types.name_of(Typed(function, scope)))
        case ast.Attribute(value=owner, attr=name):
            module = types.name_of(Typed(owner, scope))
            is_module = isinstance(owner, ast.Name) and module != "" and "." not in module
            if is_module and not types.is_builtin(module, scope):
                return _is_computing_import(f"{module}.{name}")
            typed = types.infer(owner, scope)
            is_own = typed is not None and not types.name_of(types.expand(typed))
            is_known = name in METHOD_NAMES or _is_computing_import(f"{module}.{name}")
            return is_known and not is_own
    return False


def _is_computing_import(name: str) -> bool:
    """Return whether a dotted name is a standard library function that only computes.

    Imports nothing.
    """
    module, _, function = name.rpartition(".")
    is_known = module in sys.stdlib_module_names and module in sys.modules
    return is_known and is_computing(getattr(sys.modules[module], function, None))


def _may_change(name: str, block: NaturalBlock, types: TypeReader) -> bool:
    """Return whether a block may bind or change a variable, and so satisfy an assert about it."""
    if any(path.partition(".")[0] == name for path in block.writes):
        return True
    typed = types.infer(ast.Name(name, ast.Load()), block.scope)
    return typed is None or not types.is_read_only(typed)


def _is_captured(name: str, block: NaturalBlock, types: TypeReader) -> bool:
    """Return whether the call passes the contract a local variable that the block does not name."""
    home = resolve_name(name, block.scope, types.outputs)
    return not (isinstance(home, Global) and name != "__class__") and name not in block.names
