"""The shapes that a function's annotations give its parameters: the guard where nothing was learned.

    def f(names: list[str], mail: Optional["Mail"], when: Sequence[int], box: Callable[[], int]):

    {"names": "list[str]", "mail": "Mail | None"}

Only forms that a look at the value can decide: built-in types, classes of the same file, and unions, collections and
`Annotated` of these. All other annotations count as `object`, so a value that does not fit them is not noticed. A class
that is only registered as a subclass (`ABC.register`) is taken for a misfit, and the block runs live.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from njc.frontend.names import Global, NameScope, resolve_name
from njc.static.holes import Hole
from njrt.private_names import mangle
from njrt.values.shapes import ANY_SHAPE

_SCALARS = ("str", "int", "float", "bool", "bytes", "complex", "object")
_COLLECTIONS = ("list", "set", "frozenset", "tuple", "dict")
_TYPING_FORMS = {
    **{name: name for name in ("Optional", "Union", "Annotated", "Final")},
    **{name.title(): name for name in _COLLECTIONS if name != "frozenset"},
    "FrozenSet": "frozenset",
}


def find_annotated_shapes(hole: Hole, classes: Mapping[str, ast.ClassDef]) -> dict[str, str]:
    """Return the shapes of the parameters that the block reads, as far as they are annotated."""
    scope = hole.block.scope
    reader = _AnnotationReader(scope, classes)
    shapes = {
        name: reader.read(annotation)
        for name in hole.block.names
        if (annotation := scope.bindings.parameters.get(mangle(name, hole.class_name)))
    }
    return {name: shape for name, shape in shapes.items() if shape != ANY_SHAPE}


@dataclass(frozen=True, slots=True)
class _AnnotationReader:
    """Reads annotations of a function's parameters, which have their meaning in the scope around it."""

    scope: NameScope
    classes: Mapping[str, ast.ClassDef]

    def read(self, annotation: ast.expr) -> str:
        """Return the shape that an annotation describes."""
        match annotation:
            case ast.Constant(value=None):
                return "None"
            case ast.Constant(value=str(text)):
                try:
                    return self.read(ast.parse(text.strip(), mode="eval").body)
                except SyntaxError:
                    return ANY_SHAPE
            case ast.Name() | ast.Attribute():
                form = self._find_form(annotation)
                return form if form not in ("", *_TYPING_FORMS) else ANY_SHAPE
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return self._read_union([left, right])
            case ast.Subscript(value=ast.Name(id=name)) if name in self.classes:
                return ANY_SHAPE
            case ast.Subscript(value=base, slice=inner):
                parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                return self._read_subscript(self._find_form(base), parts)
        return ANY_SHAPE

    def _read_subscript(self, form: str, parts: list[ast.expr]) -> str:
        match form:
            case "Optional":
                return self._read_union([*parts, ast.Constant(None)])
            case "Union":
                return self._read_union(parts)
            case "Annotated" | "Final":
                return self.read(parts[0])
            case _ if form in _COLLECTIONS:
                # Of `tuple[int, ...]` and `tuple[()]`, whose brackets mean something else in a shape, the type.
                is_plain = parts and not any(ast.unparse(part) == "..." for part in parts)
                return f"{form}[{', '.join(map(self.read, parts))}]" if is_plain else form
        return ANY_SHAPE

    def _read_union(self, parts: list[ast.expr]) -> str:
        shapes = [self.read(part) for part in parts]
        return ANY_SHAPE if ANY_SHAPE in shapes else " | ".join(dict.fromkeys(shapes))

    def _find_form(self, node: ast.expr) -> str:
        """Return the built-in type, the class of the file or the form of `typing` that a name means; "" for others."""
        if isinstance(node, ast.Attribute):
            is_typing = isinstance(node.value, ast.Name) and node.value.id in ("typing", "t")
            return _TYPING_FORMS.get(node.attr, "") if is_typing else ""
        if not isinstance(node, ast.Name) or node.id in self.scope.bindings.type_parameters:
            return ""
        meaning = resolve_name(node.id, self.scope.parent or self.scope, {})
        if not isinstance(meaning, Global):
            return ""
        if node.id in self.classes:
            return "" if _is_structural(self.classes[node.id]) else node.id
        if not meaning.known and node.id in (*_SCALARS, *_COLLECTIONS):
            return node.id
        return _TYPING_FORMS.get(node.id, "")


def _is_structural(class_: ast.ClassDef) -> bool:
    """Return whether instances need not name the class among their bases."""
    names = {ast.unparse(base).rpartition(".")[2].partition("[")[0] for base in class_.bases}
    return bool(class_.keywords) or not names.isdisjoint({"Protocol", "TypedDict"})
