"""Annotations without quotes, as a whole and in their parts.

"list[Mail]"                     list[Mail]
dict["str", "Mail"]              dict[str, Mail]
Literal["a"] | "Mail"            Literal["a"] | Mail      the texts of a `Literal` keep theirs
"""

from __future__ import annotations

import ast
import builtins

from njc.compiler.analysis.types import TYPE_PREFIXES, Typed, TypeDefinitions
from njc.compiler.frontend.name_resolution import NameScope, is_defined, resolve_name
from njc.compiler.frontend.prompt_references import list_variables, parse_type


def unquote(annotation: ast.expr) -> ast.expr:
    """Return the annotation without its quotes, if it is quoted as a whole."""
    match annotation:
        case ast.Constant(value=str(text)):
            return parse_type(text) or annotation
    return annotation


def unquote_inside(typed: Typed, types: TypeDefinitions) -> ast.expr:
    """Return the annotation without quotes, even in parts; a `Literal`'s texts keep theirs."""
    annotation = typed.annotation
    match annotation:
        case ast.Constant(value=str(text)):
            parsed = parse_type(text)
            return unquote_inside(typed.inside(parsed), types) if parsed else annotation
        case ast.Subscript(value=origin, slice=inner) if (
            holds_types := _holds_types(typed, types)
        ) is not False:
            made = unquote_inside(typed.inside(inner), types)
            names = () if holds_types else list_variables(made)
            is_type = all(is_defined(name, typed.scope, types.outputs) for name in names)
            return ast.Subscript(origin, made, ast.Load()) if is_type else annotation
        case ast.Subscript(value=origin, slice=ast.Tuple(elts=[first, *notes])) if (
            types.name_of(typed) == "typing.Annotated"
        ):
            parts = [unquote_inside(typed.inside(first), types), *notes]
            return ast.Subscript(origin, ast.Tuple(parts, ast.Load()), ast.Load())
        case ast.BinOp(left=left, op=ast.BitOr() as bar, right=right):
            sides = [unquote_inside(typed.inside(part), types) for part in (left, right)]
            return ast.BinOp(sides[0], bar, sides[1])
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            inside = [unquote_inside(typed.inside(part), types) for part in parts]
            return type(annotation)(inside, ast.Load())
    return annotation


def _holds_types(typed: Typed, types: TypeDefinitions) -> bool | None:
    """Return whether parts in brackets are types; None if uncertain: `Float[Array, "n"]`."""
    assert isinstance(typed.annotation, ast.Subscript)
    origin = types.expand(typed.inside(typed.annotation.value))
    name = types.name_of(origin)
    if name.rpartition(".")[2] in ("Literal", "Annotated"):
        return False
    if name.startswith(TYPE_PREFIXES) or types.class_of_type(origin) or hasattr(builtins, name):
        return True
    return None if "." in name else False


def find_hidden_names(typed: Typed, scope: NameScope, types: TypeDefinitions) -> list[str]:
    """Return a type's names that mean something else in `scope`: there the type is not used."""
    names = list_variables(unquote_inside(typed, types)) if typed.scope is not scope else ()
    return [
        name
        for name in names
        if name not in scope.bindings.type_parameters
        and resolve_name(name, scope, types.outputs)
        != resolve_name(name, typed.scope, types.outputs)
    ]
