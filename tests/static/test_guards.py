"""What the annotations of parameters let a guard check, as a table."""

from __future__ import annotations

import ast

import pytest

from njc.compiler import compile_source
from njc.frontend.parse import Module, parse
from njc.frontend.source import SourceFile
from njc.static.guards import find_annotated_shapes
from njc.static.holes import find_holes
from njrt.options import Options

SHAPES = [
    ("int", "int"),
    ("None", "None"),
    ("'int'", "int"),
    ("list", "list"),
    ("list[str]", "list[str]"),
    ("dict[str, list[int]]", "dict[str, list[int]]"),
    ("tuple[int, ...]", "tuple"),
    ("Mail", "Mail"),
    ("Mail | None", "Mail | None"),
    ("Optional[int]", "int | None"),
    ("Optional[Mail]", "Mail | None"),
    ("Optional[list[str]]", "list[str] | None"),
    ("'Optional[Mail]'", "Mail | None"),
    ("Optional[Readable]", None),
    ("int | Other", None),
    ("Sequence[int]", None),
    ("Readable", None),
]


def find_shapes(text: str) -> dict[str, str]:
    source = SourceFile("p.njpy", text.encode())
    module = parse(source)
    assert isinstance(module, Module)
    (hole,) = find_holes(module, compile_source(source).blocks, Options(mode="auto"))
    classes = {node.name: node for node in module.tree.body if isinstance(node, ast.ClassDef)}
    return find_annotated_shapes(hole, classes)


@pytest.mark.parametrize(("annotation", "shape"), SHAPES)
def test_shape_of_an_annotation(annotation: str, shape: str | None) -> None:
    text = (
        "class Mail: pass\nclass Readable(Protocol): pass\n"
        f'def f(x: {annotation}):\n    """natural\n    Look at <x>.\n    """\n'
    )
    assert find_shapes(text) == ({} if shape is None else {"x": shape})
