"""Are the questions that generated code asks a model at run time well-formed?

    llm("Is {mail} spam?", bool)        the prompt is no f-string: `{mail}` would stay as it is
    llm(f"...", Iterator[int])          JSON does not carry iterators
    allm(f"...", bool)                  must be awaited

Types are read from the text: nothing of the program is imported to check it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from njc.frontend.references import parse_type
from njc.static.checks.attributes import Classes

_SCHEMA_ALTERNATIVES: Mapping[str, str] = {
    "object": "str, or a class with fields",
    "Any": "str, or a class with fields",
    "Callable": "str",
    "Iterator": "list",
    "Generator": "list",
}
"""What JSON does not carry, and what to ask for instead."""

_EXAMPLES: Mapping[str, str] = {
    **dict.fromkeys(("list", "List", "set", "frozenset"), "{}[str]"),
    **dict.fromkeys(("dict", "Dict", "Mapping"), "{}[str, int]"),
    **dict.fromkeys(("tuple", "Tuple"), "{}[int, str]"),
}
"""Collections, whose items must have a type."""


def find_question_problems(
    tree: ast.Module, helper: str, is_async: bool, names: Sequence[str], classes: Classes
) -> Iterator[str]:
    """Check every call of the helper; `names` are those of the program, `classes` those of the file."""
    defined = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    awaited = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Await)}
    dropped = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.Expr | ast.Return | ast.AnnAssign)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name == helper:
                if is_async and id(node) in dropped - awaited:
                    yield f"line {node.lineno}: `{helper}(...)` must be awaited: `await {helper}(...)`"
                for problem in _check_call(node, helper, names, {**classes, **defined}):
                    yield f"line {node.lineno}: {problem}"


def _check_call(
    call: ast.Call, helper: str, names: Sequence[str], classes: Classes
) -> Iterator[str]:
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    given |= dict(zip(("prompt", "schema"), call.args, strict=False))
    if len(call.args) > 2 or given.keys() - {"prompt", "schema"} or "prompt" not in given:
        yield f"`{helper}` takes a prompt and, if need be, a schema: `{helper}(prompt, schema)`"
        return
    match given["prompt"]:
        case ast.Constant(value=str(text)):
            for name in names:
                if re.search(rf"\{{{name}\b|<{name}>", text):
                    yield (
                        f"the model would read `{name}` as a word and not its value: "
                        f"write the prompt as an f-string with {{{name}}}"
                    )
    if "schema" in given:
        yield from _check_type(given["schema"], classes, frozenset())


def _check_type(node: ast.expr, classes: Classes, around: frozenset[str]) -> Iterator[str]:
    """Say what in a type JSON does not carry; what is defined elsewhere is taken to be carried."""
    match node:
        case ast.Name(id=name) if name in classes and name not in around:
            for field in classes[name].body:
                if isinstance(field, ast.AnnAssign):
                    for problem in _check_type(field.annotation, classes, around | {name}):
                        yield f"in `{name}`: {problem}"
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in _EXAMPLES:
            yield f"`{name}` must say what its items are: {_EXAMPLES[name].format(name)}, for example"
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in _SCHEMA_ALTERNATIVES:
            yield f"JSON does not carry `{name}`; ask for a {_SCHEMA_ALTERNATIVES[name]}"
        case ast.Subscript(value=base, slice=inner):
            yield from _check_subscript(base, inner, classes, around)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from _check_type(left, classes, around)
            yield from _check_type(right, classes, around)
        case ast.Constant(value=str(text)) if around:  # a field's type may be quoted
            if (quoted := parse_type(text)) is not None:
                yield from _check_type(quoted, classes, around)
        case ast.Constant(value=str(text)):
            yield f"the schema must be a type, not the text {text!r}"
        case ast.List() | ast.Tuple() | ast.Set():
            yield "the schema must be a type: for a choice write Literal[...], for several list[...]"
        case _:
            return


def _check_subscript(
    base: ast.expr, inner: ast.expr, classes: Classes, around: frozenset[str]
) -> Iterator[str]:
    name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if name in _SCHEMA_ALTERNATIVES:
        yield f"JSON does not carry `{name}[...]`; ask for a {_SCHEMA_ALTERNATIVES[name]}"
    elif name == "Annotated":
        yield from _check_type(parts[0], classes, around)
    elif name not in ("Literal", "ClassVar"):
        for part in parts:
            yield from _check_type(part, classes, around)
