"""Check for attributes that do not exist according to the program's annotations.

    def triage(self, mails: list[Mail]):
        for mail in mails:              mail is a Mail
            ...                         mail.kind    a `Mail` has no `kind`; it has sender, text

Only certain problems are reported: for names with one plain type that the program binds once, and
classes in the same file with known bases, in a program that sets no attributes by name. Not
detected: attributes of other expressions, unions and quoted types. An attribute that the program
sets on any object in the file counts for every class.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Mapping

from njc.analysis.inference import TypeReader
from njc.analysis.types import MAX_DEPTH, ClassDefinition, Typed
from njc.frontend.name_resolution import Definition, FunctionDefinition, NameScope
from njrt.private_names import mangle
from njrt.similar import find_similar

_BUILTIN_TYPES = ("str", "int", "float", "bool", "bytes", "list", "dict", "set", "tuple")
_KNOWN_BASES: Mapping[str, tuple[str, ...]] = {"object": (), "BaseModel": ("model_",)}
"""Known bases from other modules, with the prefixes of the names that they add."""
_SETS_BY_NAME = re.compile(r"\b(?:setattr|vars|__dict__|__setattr__)\b")
"""A program that contains one of these may set attributes with any name."""
_BOUND_ONCE = (ast.AnnAssign, ast.For, ast.AsyncFor)


def find_attribute_problems(
    tree: ast.Module, scope: NameScope, bound: Mapping[str, ast.AST], types: TypeReader
) -> Iterator[str]:
    """Check each attribute of the program's names that the code does not bind itself."""
    stored_by_code = _list_stored_attributes(scope.module.node, None)
    set_somewhere = frozenset((*stored_by_code, *_list_attributes_by_blocks(types)))
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute, ctx=ast.Load()) if (
                name not in bound and (typed := _find_certain_type(name, scope, types)) is not None
            ):
                known = find_type_attributes(typed, types)
                stored = mangle(attribute, scope.mangling_class)
                if known is not None and not _has_attribute(stored, known | set_somewhere):
                    message = _describe_missing_attribute(name, typed, attribute, known)
                    yield f"line {node.lineno}: {message}"


def _list_attributes_by_blocks(types: TypeReader) -> Iterator[str]:
    """Yield the stored names of attributes that blocks bind, on an object or in a class body."""
    for block in types.blocks:
        for output in block.references:
            if output.writes and (output.is_dotted or block.scope.kind == "class"):
                yield mangle(output.path.rpartition(".")[2], block.scope.mangling_class)


def _find_certain_type(name: str, scope: NameScope, types: TypeReader) -> Typed | None:
    """Return the type of a function's parameter, annotated or loop variable if it is bound once."""
    bindings, statements = scope.bindings, types.find_statements_binding(name, scope)
    is_parameter = name in bindings.parameters and name not in bindings.annotations
    if (
        not scope.is_function
        or len(statements) + is_parameter > 1
        or name in types.outputs.get(scope, ())
        or not all(isinstance(statement, _BOUND_ONCE) for statement in statements)
    ):
        return None
    return types.infer(ast.Name(name, ast.Load()), scope)


def _describe_missing_attribute(
    name: str, typed: Typed, attribute: str, known: frozenset[str]
) -> str:
    shown = sorted(name for name in known if name.isidentifier() and not name.startswith("_"))
    close = find_similar(attribute, shown)
    few = f"; it has {', '.join(shown)}" if 0 < len(shown) <= 12 else ""
    hint = f"; did you mean `{close}`?" if close else few
    return f"`{name}` is a `{typed}`, which has no `{attribute}`{hint}"


def _has_attribute(attribute: str, known: frozenset[str]) -> bool:
    is_special = attribute.startswith("__") and attribute.endswith("__")
    begins = any(attribute.startswith(name[:-1]) for name in known if name.endswith("*"))
    return attribute in known or is_special or begins


def find_type_attributes(typed: Typed, types: TypeReader) -> frozenset[str] | None:
    """Return a type's attributes; None if unknown. `model_*` means all names with this prefix."""
    expanded = types.expand(typed)
    found = types.class_of_type(expanded)
    if found is not None:
        is_open = _SETS_BY_NAME.search(types.text)
        return None if is_open else _find_class_attributes(found, types)
    name = types.name_of(expanded)
    is_plain = isinstance(expanded.annotation, ast.Name | ast.Subscript)
    return frozenset(dir(getattr(builtins, name))) if is_plain and name in _BUILTIN_TYPES else None


def _find_class_attributes(found: ClassDefinition, types: TypeReader) -> frozenset[str] | None:
    attributes: set[str] = set()
    family = [*types.walk_bases(found)]
    if len(family) > MAX_DEPTH:  # a class may be one of its own bases
        return None
    for class_, scope in family:
        functions = (getattr(each, "func", each) for each in class_.decorator_list)
        decorators = {getattr(each, "id", getattr(each, "attr", "")) for each in functions}
        if class_.keywords or decorators - {"dataclass"}:
            return None
        for base in class_.bases:
            name = getattr(base, "id", "")
            if types.class_of_type(Typed(base, scope)) is None:
                if name not in _KNOWN_BASES:
                    return None
                attributes |= {f"{prefix}*" for prefix in _KNOWN_BASES[name]}
        methods = {member.name for member in class_.body if isinstance(member, FunctionDefinition)}
        if methods & {"__getattr__", "__getattribute__"}:
            return None
        attributes.update(_list_own_attributes(class_))
    return frozenset(attributes)


def _list_own_attributes(class_: ast.ClassDef) -> Iterator[str]:
    """Yield the stored names of attributes that a class defines, sets or lists in `__slots__`."""
    for node in ast.walk(class_):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                yield mangle(name, class_.name)
            case _ if isinstance(node, Definition) and node is not class_:
                yield mangle(node.name, class_.name)
            case ast.Assign(targets=[ast.Name(id="__slots__")], value=value):
                for part in ast.walk(value):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield mangle(part.value, class_.name)
    yield from _list_stored_attributes(class_, class_.name)


def _list_stored_attributes(tree: ast.AST, class_name: str | None) -> Iterator[str]:
    """Yield the stored names of attributes that are set anywhere in a tree."""
    for node in ast.iter_child_nodes(tree):
        inner = node.name if isinstance(node, ast.ClassDef) else class_name
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield mangle(node.attr, class_name)
        yield from _list_stored_attributes(node, inner)
