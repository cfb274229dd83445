"""Check for outputs bound to a value outside their `Literal` type.

    kind: Literal["bill", "work"]
    kind = "offer"                  `kind` must be one of "bill", "work", and not "offer"
    kind = mail.split()[0]          `mail.split()[0]` may be any text

Only what no type checker accepts is reported: other constants, and texts that are cut or joined. Not detected: variables,
calls of functions, and outputs that are bound otherwise than by an assignment.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from njc.frontend.prompt_references import parse_type

_TEXT_METHODS = {
    *("split", "rsplit", "partition", "rpartition", "splitlines", "join", "format", "replace"),
    *("strip", "lstrip", "rstrip", "lower", "upper", "title", "capitalize", "casefold"),
}
"""Methods of texts that give texts of any kind."""


def find_choice_problems(
    nodes: Sequence[ast.AST], types: Mapping[str, str], question: str
) -> Iterator[str]:
    """Check the assignments to outputs; `question` is how code asks a model, with `{}` for the type."""
    choices = {path: found for path, text in types.items() if (found := _parse_choices(text))}
    for node in nodes:
        match node:
            case ast.Assign(targets=[target], value=ast.expr() as value):
                path = ast.unparse(target)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                path = ast.unparse(target)
            case _:
                continue
        if path in choices and (wrong := _describe_wrong_value(value, choices[path])):
            of = ", ".join(map(repr, choices[path]))
            yield (
                f"line {node.lineno}: `{path}` must be one of {of}, and {wrong}; choose among these, "
                f"or ask for it: `{path} = {question.format(types[path])}`"
            )


def _parse_choices(type_: str) -> tuple[str, ...]:
    """Return the texts that a type allows; none if it is not a choice among texts."""
    match parse_type(type_):
        case ast.Subscript(
            value=ast.Name(id="Literal") | ast.Attribute(attr="Literal"), slice=inner
        ):
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            texts = tuple(part.value for part in parts if isinstance(part, ast.Constant))
            is_text = len(texts) == len(parts) and all(isinstance(text, str) for text in texts)
            return tuple(map(str, texts)) if is_text else ()
    return ()


def _describe_wrong_value(value: ast.expr, choices: Sequence[str]) -> str:
    match value:
        case ast.Constant(value=found) if found not in choices:
            return f"not {found!r}"
        case ast.JoinedStr() | ast.BinOp(op=ast.Add()):
            return f"`{ast.unparse(value)}` may be any text"
        case ast.Call(func=method) | ast.Subscript(value=ast.Call(func=method)) if (
            isinstance(method, ast.Attribute) and method.attr in _TEXT_METHODS
        ):
            return f"`{ast.unparse(value)}` may be any text"
    return ""
