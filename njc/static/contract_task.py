"""The contract of a static block as a test of its code: inputs by their types, and the asserts around the block.

    assert n >= 0
    \"\"\"natural(mode="static")
    Put the sum of the digits of <n: int> into <:total: int>.          ContractTask(inputs={"n": "int"}, requires=("n >= 0",),
    \"\"\"                                                                   ensures=("total >= 0",), code="...")
    assert total >= 0

The code runs on inputs that Hypothesis makes, in another process. Not tested: blocks with jumps, in coroutines or classes, code
that asks a model, and variables other than annotated parameters.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from njc.analysis.contracts import find_contract, format_assert
from njc.analysis.inference import TypeReader
from njc.frontend.names import collect_bindings
from njc.frontend.references import format_annotation
from njc.static.fit import StaticFile
from njc.static.holes import Hole


@dataclass(frozen=True, slots=True)
class ContractTask:
    """Code to run, and what must hold before and after it."""

    prelude: tuple[str, ...]
    """Imports, classes and types of the program."""
    code: str
    inputs: Mapping[str, str]
    """The types of the inputs."""
    requires: tuple[str, ...]
    ensures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ContractVerdict:
    """The result of a test: how many inputs it held on, or a counterexample."""

    held: int = 0
    refusal: str = ""


def make_contract_task(file: StaticFile, hole: Hole, code: str) -> ContractTask | None:
    """Return the test of a block's code; None if there is no contract, or it cannot be tested."""
    block, module = hole.block, file.analysis.module
    node = block.scope.node
    if not isinstance(node, ast.FunctionDef) or hole.class_name is not None or hole.labels:
        return None
    if module is None or not block.ensures or hole.helper in code:
        return None
    types = TypeReader(file.analysis.outputs, file.source.text, file.analysis.blocks)
    contract = find_contract(file.source, block, types)
    prelude = tuple(_list_definitions(module.tree))
    known = collect_bindings(ast.parse("\n".join(prelude)), None).bound
    annotations = {
        each.arg: format_annotation(each.annotation)
        for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        if each.annotation is not None
    }
    inputs = {name: text for name, text in annotations.items() if name in block.reads}
    if not contract.texts or not inputs:
        return None
    if not {*block.reads, *contract.names} <= {*inputs, *known, *block.writes}:
        return None
    requires = tuple(format_assert(file.source, statement) for statement in block.requires)
    return ContractTask(prelude, code, inputs, requires, contract.texts)


def _list_definitions(tree: ast.Module) -> Iterator[str]:
    """Yield the imports, classes and types at the top of a program."""
    for node in tree.body:
        match node:
            case ast.ImportFrom(level=0) | ast.Import() | ast.ClassDef():
                yield ast.unparse(node)
            case ast.Assign(value=ast.Subscript() | ast.BinOp()):
                yield ast.unparse(node)
            case _:
                pass
