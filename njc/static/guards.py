"""What the annotations of a function say of the shapes of its parameters: the guard where nothing was learned.

    def f(names: list[str], mail: Mail | None, when: Sequence[int], box: Callable[[], int]):

    {"names": "list[str]", "mail": "Mail | None"}

Only what a cheap look at the value can decide: built-in types, and classes of the same file. All else is
`object`, which every value is.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from njc.static.holes import Hole
from njrt.values.shapes import ANY_SHAPE

_SCALARS = ("str", "int", "float", "bool", "bytes", "complex", "None", "object")
_COLLECTIONS = ("list", "set", "frozenset", "tuple", "dict")


def find_annotated_shapes(hole: Hole, classes: Mapping[str, ast.ClassDef]) -> dict[str, str]:
    """The shapes of the parameters that the block reads, as far as they are annotated."""
    parameters = hole.block.scope.bindings.parameters
    found = {}
    for name in hole.block.names:
        if annotation := parameters.get(name):
            shape = _parse_shape(annotation, classes)
            if shape != ANY_SHAPE:
                found[name] = shape
    return found


def _parse_shape(annotation: ast.expr, classes: Mapping[str, ast.ClassDef]) -> str:
    match annotation:
        case ast.Constant(value=None):
            return "None"
        case ast.Constant(value=str(text)):
            try:
                return _parse_shape(ast.parse(text, mode="eval").body, classes)
            except SyntaxError:
                return ANY_SHAPE
        case ast.Name(id=name) if name in (*_SCALARS, *_COLLECTIONS):
            return name
        case ast.Name(id=name) if name in classes and not _is_protocol(classes[name]):
            return name
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            sides = [_parse_shape(left, classes), _parse_shape(right, classes)]
            return ANY_SHAPE if ANY_SHAPE in sides else " | ".join(sides)
        case ast.Subscript(value=ast.Name(id="Optional"), slice=inner):
            shape = _parse_shape(inner, classes)
            return shape if shape == ANY_SHAPE else f"{shape} | None"
        case ast.Subscript(value=ast.Name(id=name), slice=inner) if name in _COLLECTIONS:
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            if any(isinstance(part, ast.Constant) and part.value is ... for part in parts):
                return name
            return f"{name}[{', '.join(_parse_shape(part, classes) for part in parts)}]"
    return ANY_SHAPE


def _is_protocol(class_: ast.ClassDef) -> bool:
    """Whether instances need not name the class among their bases."""
    names = {ast.unparse(base).rpartition(".")[2].partition("[")[0] for base in class_.bases}
    return not names.isdisjoint({"Protocol", "TypedDict", "NamedTuple", "NewType"}) or bool(
        class_.keywords
    )
