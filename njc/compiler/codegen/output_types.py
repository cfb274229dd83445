"""The types of a block's outputs and returned value, as text in the compiled call.

    order: Optional["Order"] = None
    ...
    Put into <:order> and <:size: int> ...      {"order": "Optional[Order]", "size": "int"}

A type comes from the prompt or from an annotation in the program. The call evaluates it only when
needed, so quotes around a class that is defined further down are dropped.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence, Set

from njc.compiler.analysis.annotations import unquote_inside
from njc.compiler.analysis.changeability import list_parts
from njc.compiler.analysis.inference import TypeReader
from njc.compiler.analysis.json_compatibility import find_json_problem
from njc.compiler.analysis.types import MAX_DEPTH, Typed, TypeDefinitions
from njc.compiler.frontend.blocks import NaturalBlock
from njc.compiler.frontend.name_resolution import (
    BlockOutputs,
    FunctionDefinition,
    NameScope,
    ResolvedName,
    TypeParameter,
    resolve_name,
)
from njc.compiler.frontend.prompt_references import (
    format_annotation,
    format_string,
    is_type,
    list_variables,
    parse_type,
)
from njrt.data.private_names import mangle
from njrt.data.records import record


@record
class OutputTypes:
    """The text of each type, by path; `return` is the surrounding function's result."""

    by_path: Mapping[str, str]
    class_names: tuple[str, ...]
    """The names in the surrounding class body that the types refer to."""


def find_output_types(block: NaturalBlock, labels: Sequence[str], types: TypeReader) -> OutputTypes:
    """Return the types of outputs and a return value, from a prompt or an annotation in scope."""
    scope = block.scope
    said: dict[str, str] = {}
    for reference in block.references:
        if reference.writes and reference.type:
            said.setdefault(reference.path, _unquote(reference.type, scope, types))
    for path in block.binds:
        if path not in said and (text := types.find_type_in_prompts(path, scope)):
            said[path] = _unquote(text, scope, types)
        elif path not in said and (annotation := _find_annotation(path, scope, types)) is not None:
            said[path] = format_annotation(annotation)
        elif path not in said and (text := _format_stated_type(path, scope, types)):
            said[path] = text
    if "return" in labels and (returned := find_return_type(scope, types)):
        said["return"] = returned
    own: dict[str, None] = {}
    for path, text in said.items():
        names = list_variables(parse_type(text)) if scope.kind == "class" else ()
        local = [
            name for name in names if resolve_name(name, scope, types.outputs) == scope.as_home
        ]
        if all(_is_bound_above(name, block) for name in local):
            own |= dict.fromkeys(local)
        else:  # a string, which such an annotation would have to be
            said[path] = format_string(text)
    ordered = {path: said[path] for path in (*block.writes, "return") if path in said}
    return OutputTypes(ordered, tuple(own))


def find_chosen_outputs(block: NaturalBlock, types: TypeReader) -> list[str]:
    """Return the outputs with objects that inputs hold, and that can be chosen but not made.

    They are not frozen, have methods, or are made by code of their class.
    """
    read = (types.read_type(path, block)[0] for path in block.reads)
    held = {found[0] for typed in read if typed for found, _ in types.walk_classes(typed)}
    outputs = {path: types.output_type(path, block.scope) for path in block.binds if held}
    return [path for path, typed in outputs.items() if typed and _holds_chosen(typed, held, types)]


def _holds_chosen(typed: Typed, held: Set[ast.ClassDef], types: TypeReader, depth: int = 0) -> bool:
    """Return whether a type is such a class, or a union or collection of them."""
    for part in types.union_parts(types.expand(typed)) if depth < MAX_DEPTH else ():
        inner = [part.inside(argument) for argument in list_parts(part)]
        if any(_holds_chosen(each, held, types, depth + 1) for each in inner):
            return True
        found = types.class_of_type(part)
        if found is not None and found[0] in held:
            is_data = types.is_read_only(part) and types.find_public_method(found) is None
            if not is_data or find_json_problem(part, types) is not None:
                return True
    return False


def _unquote(text: str, scope: NameScope, types: TypeDefinitions) -> str:
    """Return a prompt's type without quotes around its parts; most types have none."""
    if '"' not in text and "'" not in text:
        return text
    parsed = parse_type(text)
    assert parsed is not None, "a reference has a type or none"
    return format_annotation(unquote_inside(Typed(parsed, scope), types))


def _is_bound_above(name: str, block: NaturalBlock) -> bool:
    """Return whether a line above the block, in its class body, may bind a name."""
    statements = block.scope.bindings.statements.get(name, ())
    return any(statement.lineno < block.line for statement in statements)


def _find_annotation(name: str, scope: NameScope, types: TypeDefinitions) -> ast.expr | None:
    """Find a variable's annotation, if its names mean the same there and at the block."""
    home = resolve_name(name, scope, types.outputs)
    if isinstance(home, TypeParameter):
        return None
    stored, bindings = mangle(name, scope.mangling_class), home.scope.bindings
    if annotation := bindings.annotations.get(stored):
        return _unwrap_annotation(annotation, home.scope, scope, types, resolve_name)
    if annotation := bindings.parameters.get(stored):
        return _unwrap_annotation(annotation, home.scope, scope, types, _resolve_in_signature)
    return None


def _format_stated_type(name: str, scope: NameScope, types: TypeReader) -> str | None:
    """Return the text of the type that the code after an output's blocks states, or None."""
    if (typed := types.stated_type(name, scope)) is None:
        return None
    found = _unwrap_annotation(typed.annotation, typed.scope, scope, types, resolve_name)
    return format_annotation(found) if found is not None else None


def find_return_type(scope: NameScope, types: TypeDefinitions) -> str | None:
    """Return a function's result type if it means the same at the block; None for generators."""
    if scope.kind not in ("function", "async function"):
        return None
    assert isinstance(scope.node, FunctionDefinition)
    if scope.node.returns is None:
        return None
    found = _unwrap_annotation(scope.node.returns, scope, scope, types, _resolve_in_signature)
    return format_annotation(found) if found is not None else None


def _resolve_in_signature(name: str, scope: NameScope, outputs: BlockOutputs) -> ResolvedName:
    """Return the meaning of a name in a function's parameter list."""
    if name in scope.bindings.type_parameters or scope.parent is None:
        return TypeParameter(scope)
    return resolve_name(name, scope.parent, outputs)


def _unwrap_annotation(
    annotation: ast.expr,
    home: NameScope,
    scope: NameScope,
    types: TypeDefinitions,
    resolve: Callable[[str, NameScope, BlockOutputs], ResolvedName],
) -> ast.expr | None:
    """Return a type without `Final`, `ClassVar` and quotes, if its names mean the same in scope."""
    found = unquote_inside(Typed(annotation, home), types)
    named = found.value if isinstance(found, ast.Subscript) else found
    if getattr(named, "attr", getattr(named, "id", None)) in _QUALIFIERS:
        if not isinstance(found, ast.Subscript):
            return None
        found = found.slice
    if not is_type(found) or (isinstance(found, ast.Constant) and isinstance(found.value, str)):
        return None
    is_same = all(
        resolve(name, home, types.outputs) == resolve_name(name, scope, types.outputs)
        for name in list_variables(found)
    )
    return found if is_same else None


_QUALIFIERS = ("Final", "ClassVar", "InitVar", "TypeAlias")
