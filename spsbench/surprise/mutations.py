"""Wrong effects, planted into the code of a perfect script.

    total = 3                       total = 4                        wrong value
    boxes["a"].append(mail)    ->   pass                             dropped statement
    if done:                        if done:
        break                           pass                         dropped jump

Each mutation changes one place. Not every mutation is a mistake that the program's state shows: a mutated text may be
one that nobody reads.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

MutationKind = Literal["wrong value", "dropped statement", "dropped jump"]


@dataclass(frozen=True, slots=True)
class PlantedMutation:
    """A piece of code with one mistake."""

    kind: MutationKind
    code: str


def list_mutations(code: str) -> tuple[PlantedMutation, ...]:
    """Return all mutations of a piece of code that change its text, in the order of the code."""
    tree = ast.parse(code)
    plain = ast.unparse(tree)
    found = [mutation for mutation in _mutate(tree) if mutation.code != plain]
    return tuple(dict.fromkeys(found))


def _mutate(tree: ast.Module) -> Iterator[PlantedMutation]:
    for index, node in enumerate(ast.walk(tree)):
        match node:
            case ast.Constant(value) if (wrong := _change_value(value)) is not None:
                yield _plant("wrong value", tree, index, ast.Constant(wrong))
            case ast.Break() | ast.Continue() | ast.Return() | ast.Raise():
                yield _plant("dropped jump", tree, index, ast.Pass())
            case ast.Expr(ast.Call()) | ast.AugAssign():
                yield _plant("dropped statement", tree, index, ast.Pass())
            case ast.Assign([ast.Subscript() | ast.Attribute()]):
                yield _plant("dropped statement", tree, index, ast.Pass())


def _change_value(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str() if value:
            return f"{value}x" if len(value) < 4 else value[:-2]
        case _:
            return None


def _plant(kind: MutationKind, tree: ast.Module, index: int, wrong: ast.AST) -> PlantedMutation:
    changed = copy.deepcopy(tree)
    target = list(ast.walk(changed))[index]
    replaced = _NodeReplacer(target, wrong).visit(changed)
    return PlantedMutation(kind, ast.unparse(ast.fix_missing_locations(replaced)))


class _NodeReplacer(ast.NodeTransformer):
    def __init__(self, target: ast.AST, wrong: ast.AST) -> None:
        self._target, self._wrong = target, wrong

    def visit(self, node: ast.AST) -> Any:
        return self._wrong if node is self._target else self.generic_visit(node)
