"""A block's contract: the asserts about its variables that directly follow it.

    \"\"\"natural
    Put into <:plan: Plan> the shortest plan for <wishes>.
    \"\"\"
    assert plan.end > plan.start, "it ends early"
        find_contract(...).texts[0]    'plan.end > plan.start, "it ends early"'

The compiled call gets the texts, and the runtime checks those that only compute before the block
ends.
"""

from __future__ import annotations

import ast

from njc.compiler.analysis.inference import TypeReader
from njc.compiler.frontend.blocks import NaturalBlock
from njc.compiler.frontend.name_resolution import Global, resolve_name
from njc.compiler.frontend.prompt_references import list_variables
from njc.compiler.frontend.source import SourceFile
from njrt.data.records import record


@record
class BlockContract:
    """The asserts that a block must satisfy, and the other local variables that they read."""

    texts: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


NO_CONTRACT = BlockContract()


def find_contract(source: SourceFile, block: NaturalBlock, types: TypeReader) -> BlockContract:
    """Return a block's contract: the asserts about its variables.

    A block in the body of a class has none.
    """
    if block.scope.kind == "class":
        return NO_CONTRACT
    texts: list[str] = []
    names: list[str] = []
    for statement in block.ensures:
        read, tested = list_variables(statement), list_variables(statement.test)
        if not any(name in block.names and _may_change(name, block, types) for name in tested):
            continue
        texts.append(format_assert(source, statement))
        names += [name for name in read if _is_captured(name, block, types)]
    return BlockContract(tuple(texts), tuple(dict.fromkeys(names)))


def format_assert(source: SourceFile, statement: ast.Assert) -> str:
    """Return an assert on one line, without its first word."""
    parts = [statement.test, *([statement.msg] if statement.msg is not None else [])]
    return ", ".join(_format_part(source, part) for part in parts)


def _format_part(source: SourceFile, part: ast.expr) -> str:
    text = source.text[slice(*source.get_span(part))]
    is_simple = text.isascii() and not set(text) & set("\r\n\f#\\")
    return text if is_simple and not isinstance(part, ast.Tuple) else ast.unparse(part)


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
