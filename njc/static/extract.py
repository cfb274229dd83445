"""The code in a reply: without the program around it, and with the imports that it needs.

    def read(letter):                   order = llm(f"... {letter}", Order)
        order = llm(f"...", Order)  ->
        return order                    `return order` is the program's own

    kind = llm(f"...", Literal["a"])  ->  from typing import Literal
                                          kind = llm(f"...", Literal["a"])

Small models often write the whole function again. What they added to it, at the place of the block, is the code
that was asked for; if they changed anything else, the reply is left as it is. Only names with one meaning are
imported: modules that only compute, and the names of types. A name that the program uses is never imported over.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence

from njc.frontend.names import FunctionDefinition, NameScope, list_suites, walk_outwards
from njc.static.holes import Hole
from njrt.agent.text_protocol import parse_text_effects
from njrt.effects import Run
from njrt.execution.guard.allowed import IMPORTABLE_MODULES
from njrt.execution.symbols import find_names

StatementList = Sequence[ast.stmt]


def extract_code(text: str, hole: Hole) -> str | None:
    """Return the code for the hole in a reply: its first piece of Python; None if there is none."""
    for effect in parse_text_effects(text, "direct"):
        if isinstance(effect, Run) and effect.code.strip():
            code = textwrap.dedent(effect.code.replace("\r\n", "\n")).strip("\n").rstrip() + "\n"
            return add_missing_imports(unwrap_code(code, hole), hole)
    return None


def unwrap_code(code: str, hole: Hole) -> str:
    """Take the code of the hole out of a copy of the function around it; anything else is left as it is."""
    scope = _find_outermost_scope(hole.block.scope)
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return code
    copies = [statement for statement in tree.body if _is_copy(statement, scope)]
    if scope.kind == "module" or len(copies) != 1:
        return code
    found = _find_added_statements([copies[0]], [scope.node], hole)  # type: ignore[list-item]
    if not found:
        return code
    imports = [
        statement for statement in tree.body if isinstance(statement, ast.Import | ast.ImportFrom)
    ]
    return "".join(
        _get_text(code, part) for part in (*([statement] for statement in imports), found)
    )


def _find_outermost_scope(scope: NameScope) -> NameScope:
    around = [around for around in walk_outwards(scope) if around.kind != "module"]
    return around[-1] if around else scope


def _is_copy(statement: ast.stmt, scope: NameScope) -> bool:
    return isinstance(statement, FunctionDefinition | ast.ClassDef) and statement.name == scope.name


def _find_added_statements(
    theirs: StatementList, ours: StatementList, hole: Hole
) -> StatementList | None:
    """Return the statements of their suite at the place of the block in ours; None if the suites differ elsewhere."""
    at = next((index for index, statement in enumerate(ours) if _has_block(statement, hole)), None)
    if at is None:
        return None
    around = ours[at]
    if isinstance(around, FunctionDefinition | ast.ClassDef):
        # Models often write only the method of a class.
        copies = [
            statement for statement in theirs if getattr(statement, "name", None) == around.name
        ]
        pairs = zip(_list_suites(copies[0]), _list_suites(around), strict=False) if copies else ()
        return next(
            (found for pair in pairs if (found := _find_added_statements(*pair, hole))), None
        )
    after = len(ours) - at - 1
    if len(theirs) < len(ours) - 1:
        return None
    before_is_same = _is_same_code(theirs[:at], ours[:at])
    after_is_same = _is_same_code(theirs[len(theirs) - after :], ours[at + 1 :])
    middle = theirs[at : len(theirs) - after]
    if not (before_is_same and after_is_same):
        return None
    if isinstance(around, ast.Expr):
        return middle or None
    if len(middle) != 1 or type(middle[0]) is not type(around):
        return None
    pairs = zip(_list_suites(middle[0]), _list_suites(around), strict=False)
    return next((found for pair in pairs if (found := _find_added_statements(*pair, hole))), None)


def _has_block(statement: ast.stmt, hole: Hole) -> bool:
    """Return whether the block is in this statement."""
    return statement.lineno <= hole.block.line <= (statement.end_lineno or 0)


def _list_suites(statement: ast.stmt) -> list[list[ast.stmt]]:
    if isinstance(statement, FunctionDefinition | ast.ClassDef):
        return [statement.body]
    return list(list_suites(statement))


def _is_same_code(theirs: StatementList, ours: StatementList) -> bool:
    return [ast.dump(statement) for statement in theirs] == [
        ast.dump(statement) for statement in ours
    ]


def _get_text(code: str, statements: StatementList) -> str:
    """Return the lines of some statements without their margin, comments between and above them included."""
    lines = code.split("\n")
    first = min(
        [statements[0].lineno, *(decorator.lineno for decorator in _get_decorators(statements[0]))]
    )
    while first > 1 and lines[first - 2].lstrip().startswith("#"):
        first -= 1
    last = statements[-1].end_lineno or statements[-1].lineno
    return textwrap.dedent("\n".join(lines[first - 1 : last])) + "\n"


def _get_decorators(statement: ast.stmt) -> list[ast.expr]:
    found: list[ast.expr] = getattr(statement, "decorator_list", [])
    return found


_IMPORT_SOURCES = {
    **dict.fromkeys(("Literal", "Any", "Optional", "Union", "Annotated"), "typing"),
    **dict.fromkeys(("dataclass", "field"), "dataclasses"),
    **dict.fromkeys(("defaultdict", "Counter", "deque"), "collections"),
    **dict.fromkeys(("Decimal",), "decimal"),
    **dict.fromkeys(("Enum",), "enum"),
}


def add_missing_imports(code: str, hole: Hole) -> str:
    """Put the imports that are missing before the code."""
    try:
        names = find_names(ast.parse(code), hole.class_name)
    except (SyntaxError, ValueError, RecursionError):
        return code
    missing = [name for name in names.read if name not in names.bound and name not in hole.visible]
    imports = [
        text for name in missing if (text := _make_import(name)) and _is_free(name, text, hole)
    ]
    return "\n".join([*imports, code])


def _make_import(name: str) -> str | None:
    if name in _IMPORT_SOURCES:
        return f"from {_IMPORT_SOURCES[name]} import {name}"
    return f"import {name}" if name in IMPORTABLE_MODULES else None


def _is_free(name: str, text: str, hole: Hole) -> bool:
    """Return whether the name means nothing else in the file, or just what it would be imported as."""
    return name not in hole.taken or text in hole.imports
