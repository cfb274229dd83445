"""Does the code use attributes that do not exist? As far as the annotations of the program tell.

    def triage(self, mails: list[Mail]):
        for mail in mails:              mail is a Mail
            ...                         mail.kind    `mail` is a `Mail`, which has no `kind`; it has sender, text

Only what is certain is reported: names with one plain type that the program binds once, and classes of the same file
whose bases are known. Not seen: attributes of other expressions, of unions, and of values whose type is quoted. An
attribute that the program sets anywhere in the file, on whatever object, counts as one of every class.
"""

from __future__ import annotations

import ast
import builtins
import difflib
from collections.abc import Iterator, Mapping

from njc.frontend.names import FunctionDefinition, NameScope, list_suites, walk_outwards
from njrt.private_names import mangle

Classes = Mapping[str, ast.ClassDef]
VariableTypes = Mapping[str, ast.expr]

_COLLECTION_TYPES = (
    "list",
    "set",
    "frozenset",
    "tuple",
    "Sequence",
    "Iterable",
    "Iterator",
    "Collection",
)
_BUILTIN_TYPES = ("str", "int", "float", "bool", "bytes", "list", "dict", "set", "tuple")
_KNOWN_BASES: Mapping[str, tuple[str, ...]] = {"object": (), "BaseModel": ("model_",)}
"""Known bases from elsewhere, with the beginnings of the names that they add."""


def find_attribute_problems(
    tree: ast.Module, scope: NameScope, bound: Mapping[str, ast.AST], classes: Classes
) -> Iterator[str]:
    """Check each attribute of a name of the program that the code does not bind itself."""
    types = infer_variable_types(scope, classes)
    *_, module = walk_outwards(scope)
    set_somewhere = frozenset(_list_stored_attributes(module.node, None))
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute, ctx=ast.Load()) if (
                name in types and name not in bound
            ):
                known = find_type_attributes(types[name], classes)
                stored = mangle(attribute, scope.mangling_class)
                if known is not None and not _has_attribute(stored, known | set_somewhere):
                    message = _describe_missing_attribute(name, types[name], attribute, known)
                    yield f"line {node.lineno}: {message}"


def _describe_missing_attribute(
    name: str, type_: ast.expr, attribute: str, known: frozenset[str]
) -> str:
    shown = sorted(name for name in known if name.isidentifier() and not name.startswith("_"))
    close = difflib.get_close_matches(attribute, shown, n=1)
    few = f"; it has {', '.join(shown)}" if 0 < len(shown) <= 12 else ""
    hint = f"; did you mean `{close[0]}`?" if close else few
    return f"`{name}` is a `{ast.unparse(type_)}`, which has no `{attribute}`{hint}"


def _has_attribute(attribute: str, known: frozenset[str]) -> bool:
    is_special = attribute.startswith("__") and attribute.endswith("__")
    begins = any(attribute.startswith(name[:-1]) for name in known if name.endswith("*"))
    return attribute in known or is_special or begins


def infer_variable_types(scope: NameScope, classes: Classes) -> dict[str, ast.expr]:
    """Return the types of the variables of a function: parameters, annotated variables, loops over those."""
    if not scope.is_function:
        return {}
    bindings = scope.bindings
    said = {**bindings.parameters, **bindings.annotations}
    types = {
        name: annotation
        for name, annotation in said.items()
        if annotation is not None
        and _count_bindings(scope.node, name) <= (name in bindings.annotations)
    }
    owner = scope.parent
    if owner and isinstance(scope.node, FunctionDefinition):
        arguments = [*scope.node.args.posonlyargs, *scope.node.args.args]
        is_method = classes.get(owner.name) is owner.node
        if arguments and arguments[0].arg == "self" and is_method:
            types["self"] = ast.Name(owner.name, ast.Load())
    for loop in _find_loops(scope.node.body):
        if isinstance(loop.target, ast.Name) and loop.target.id not in types:
            item = _find_item_type(_infer_type(loop.iter, types, classes))
            if item is not None and _count_bindings(scope.node, loop.target.id) == 1:
                types[loop.target.id] = item
    return types


def _find_loops(body: list[ast.stmt]) -> Iterator[ast.For | ast.AsyncFor]:
    for statement in body:
        if isinstance(statement, ast.For | ast.AsyncFor):
            yield statement
        for suite in list_suites(statement):
            yield from _find_loops(suite)


def _count_bindings(tree: ast.AST, name: str) -> int:
    """Return how often a name is bound, so that one with several meanings is let alone."""
    return sum(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        for node in ast.walk(tree)
    )


def _infer_type(expression: ast.expr, types: VariableTypes, classes: Classes) -> ast.expr | None:
    match expression:
        case ast.Name(id=name):
            return types.get(name)
        case ast.Attribute(value=value, attr=attribute):
            match _infer_type(value, types, classes):
                case ast.Name(id=name) if name in classes:
                    return _find_attribute_type(classes[name], attribute)
    return None


def _find_attribute_type(class_: ast.ClassDef, attribute: str) -> ast.expr | None:
    """Return the annotation of an attribute, in the class body or in the method that sets it."""
    for node in ast.walk(class_):
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=found) if name == attribute:
                return found
            case ast.AnnAssign(target=ast.Attribute(attr=name), annotation=found) if (
                name == attribute
            ):
                return found
    for method in class_.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            given = {argument.arg: argument.annotation for argument in method.args.args}
            for node in ast.walk(method):
                match node:
                    case ast.Assign(
                        targets=[ast.Attribute(attr=name)], value=ast.Name(id=source)
                    ) if name == attribute:
                        return given.get(source)
    return None


def _find_item_type(type_: ast.expr | None) -> ast.expr | None:
    """Return the type of the items of a collection."""
    match type_:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Name() as item) if (
            name in _COLLECTION_TYPES
        ):
            return item
    return None


def find_type_attributes(type_: ast.expr, classes: Classes) -> frozenset[str] | None:
    """Return the attributes of a type, None if they are not known; `model_*` means all names with this beginning."""
    base = type_.value if isinstance(type_, ast.Subscript) else type_
    if not isinstance(base, ast.Name):
        return None
    if base.id in classes:
        return _find_class_attributes(classes[base.id], classes, frozenset())
    return frozenset(dir(getattr(builtins, base.id))) if base.id in _BUILTIN_TYPES else None


def _find_class_attributes(
    class_: ast.ClassDef, classes: Classes, around: frozenset[str]
) -> frozenset[str] | None:
    found: set[str] = set()
    if class_.name in around or class_.keywords:
        return None
    for decorator in class_.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if getattr(called, "id", getattr(called, "attr", "")) != "dataclass":
            return None
    for base in class_.bases:
        name = getattr(base, "id", "")
        if name in classes:
            inherited = _find_class_attributes(classes[name], classes, around | {class_.name})
            if inherited is None:
                return None
            found |= inherited
        elif name in _KNOWN_BASES:
            found |= {f"{prefix}*" for prefix in _KNOWN_BASES[name]}
        else:
            return None
    return (
        None
        if _has_dynamic_attributes(class_)
        else frozenset(found | set(_list_own_attributes(class_)))
    )


def _has_dynamic_attributes(class_: ast.ClassDef) -> bool:
    names = {member.name for member in class_.body if isinstance(member, FunctionDefinition)}
    return not names.isdisjoint({"__getattr__", "__getattribute__"})


def _list_own_attributes(class_: ast.ClassDef) -> Iterator[str]:
    """Yield the attributes that a class defines, sets or lists in `__slots__`, as they are stored."""
    for node in ast.walk(class_):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                yield mangle(name, class_.name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield mangle(name, class_.name)
            case ast.ClassDef(name=name) if node is not class_:
                yield mangle(name, class_.name)
            case ast.Assign(targets=[ast.Name(id="__slots__")], value=value):
                for part in ast.walk(value):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield mangle(part.value, class_.name)
    yield from _list_stored_attributes(class_, class_.name)


def _list_stored_attributes(tree: ast.AST, class_name: str | None) -> Iterator[str]:
    """Yield the attributes that are set anywhere in a tree, as they are stored."""
    for node in ast.iter_child_nodes(tree):
        inner = node.name if isinstance(node, ast.ClassDef) else class_name
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield mangle(node.attr, class_name)
        yield from _list_stored_attributes(node, inner)
