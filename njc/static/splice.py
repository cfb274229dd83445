"""Locked code as it stands in the compiled file.

    import re                           hoisted to the head of the file
    count = len(re.findall("a", s))  -> # natural
                                        # Count the a's in <s>, into <:count>.
                                        count = len(re.findall("a", s))
                                        # end of natural block

Nothing here depends on tools or settings: the same code gives the same bytes.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence

from njc.analysis.assignment import find_bound_at_end
from njc.codegen.lower import WrittenBlock, format_literal, list_given_options
from njc.frontend.names import collect_bindings, list_suites
from njc.static.fresh_names import make_fresh_name
from njc.static.holes import Hole, has_own_lines, split_import
from njrt.execution.symbols import find_names
from njrt.options import Options

END_COMMENT = "# end of natural block"


def place_static_code(code: str, hole: Hole, project: Options, runtime: str) -> WrittenBlock:
    """Make the text that replaces the block from locked code."""
    tree = ast.parse(code)
    hoisted, gone = _hoist_imports(tree, hole)
    lines = code.split("\n")
    kept = "\n".join(line for number, line in enumerate(lines, 1) if number not in gone).strip("\n")
    asks = any(isinstance(node, ast.Name) and node.id == hole.helper for node in ast.walk(tree))
    above = [
        *_render_declarations(tree, hole),
        *([_render_helper(hole, project, runtime)] if asks else []),
    ]
    below = [*_render_deletion(code, hole, asks), END_COMMENT]
    at_margin = not (hole.block.placement.indent or hole.block.placement.one_line)
    blank = [""] * (1 + at_margin)
    own = ast.parse(kept).body
    parts = [
        *_render_prompt(hole),
        *above,
        *(blank if own and _is_definition(own[0]) and (above or at_margin) else []),
        *([kept] if kept else []),
        *(blank if own and _is_definition(own[-1]) else []),
        *below,
    ]
    return WrittenBlock(hole.block, "\n".join(parts), hoisted, asks)


def _is_definition(statement: ast.stmt) -> bool:
    """Whether black puts blank lines around the statement."""
    return isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)


def place_auto_code(code: str, hole: Hole, runtime: str, shapes: Mapping[str, str]) -> WrittenBlock:
    """Make the text that is tried before the live block from locked code.

    The shapes of the values and the first `assert`s of the code become the guard.
    """
    tree = ast.parse(code)
    asserts = list(
        itertools.takewhile(
            lambda statement: isinstance(statement, ast.Assert), _list_own_statements(tree)
        )
    )
    hoisted, gone = _hoist_imports(tree, hole)
    for statement in asserts:
        gone |= set(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
    name = make_fresh_name(f"{runtime}_try", hole.taken)
    lines = _mark_raises(code, tree, name).split("\n")
    kept = [line for number, line in enumerate(lines, 1) if number not in gone]
    conditions = tuple(_format_condition(statement, code) for statement in asserts)
    body = "\n".join(kept).strip("\n") or "pass"
    expected = tuple((name, shape) for name, shape in shapes.items() if name in hole.visible)
    return WrittenBlock(hole.block, body, hoisted, True, name, expected, conditions)


def _list_own_statements(tree: ast.Module) -> list[ast.stmt]:
    return [
        statement
        for statement in tree.body
        if not isinstance(statement, ast.Import | ast.ImportFrom)
    ]


def _format_condition(statement: ast.stmt, code: str) -> str:
    assert isinstance(statement, ast.Assert)
    written = ast.get_source_segment(code, statement.test)
    text = ast.unparse(statement.test) if written is None or "\n" in written else written
    return f"({text})" if isinstance(statement.test, _NEEDS_PARENTHESES) else text


_NEEDS_PARENTHESES = (ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr)


def _mark_raises(code: str, tree: ast.Module, name: str) -> str:
    """Mark the exceptions that the code raises itself, to distinguish them from errors in the code."""
    lines = code.split("\n")
    raised = [statement.exc for statement in _find_raises(tree.body) if statement.exc is not None]
    for expression in reversed(raised):
        last, end = (expression.end_lineno or 0) - 1, expression.end_col_offset or 0
        lines[last] = _insert_text(lines[last], end, ")")
        first = expression.lineno - 1
        lines[first] = _insert_text(lines[first], expression.col_offset, f"{name}.meant(")
    return "\n".join(lines)


def _insert_text(line: str, utf8_column: int, text: str) -> str:
    data = line.encode()
    return data[:utf8_column].decode() + text + data[utf8_column:].decode()


def _find_raises(body: Sequence[ast.stmt]) -> Iterator[ast.Raise]:
    """The `raise` statements of the code, in the order of the text, without those of inner functions."""
    for statement in body:
        if isinstance(statement, ast.Raise):
            yield statement
        for suite in list_suites(statement):
            yield from _find_raises(suite)


def _render_prompt(hole: Hole) -> Iterator[str]:
    """The prompt as a comment."""
    yield "# natural"
    for line in hole.instruction.split("\n"):
        yield f"# {line}".rstrip()


def _render_declarations(tree: ast.Module, hole: Hole) -> Iterator[str]:
    """Declare the types that only the prompt gives, for readers and type checkers."""
    if not hole.block.scope.is_function:
        return
    annotated = set()
    for node in ast.walk(tree):
        match node:
            case ast.AnnAssign(target=ast.Name(id=name)):
                annotated.add(name)
    said = {**hole.block.scope.bindings.annotations, **hole.block.scope.bindings.parameters}
    defined = hole.bound_before | annotated | said.keys()
    for path in hole.block.binds:
        if path in hole.types and path not in defined:
            yield f"{path}: {hole.types[path]}"


def _render_helper(hole: Hole, project: Options, runtime: str) -> str:
    """The helper with the place and the options of the block."""
    options = [
        f"{name}={format_literal(value)}" for name, value in list_given_options(hole.block.options)
    ]
    said = [f'"{name}": {format_literal(value)}' for name, value in list_given_options(project)]
    options += [f"project={{{', '.join(said)}}}"] * bool(said)
    kind = "allm_at" if hole.block.scope.is_async else "llm_at"
    return f"{hole.helper} = {runtime}.{kind}({', '.join([format_literal(hole.place), *options])})"


def _hoist_imports(tree: ast.Module, hole: Hole) -> tuple[tuple[str, ...], set[int]]:
    """The imports that move to the head of the file, and the lines of the code that they take."""
    hoisted: list[str] = []
    gone: set[int] = set()
    for statement in tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom) and has_own_lines(statement, tree):
            new = [pair for pair in split_import(statement) if pair[0] not in hole.imports]
            if hole.taken.isdisjoint(name for _, name in new):
                hoisted += [text for text, _ in new]
                gone |= set(range(statement.lineno, (statement.end_lineno or 0) + 1))
    return tuple(hoisted), gone


def _render_deletion(code: str, hole: Hole, asks: bool) -> Iterator[str]:
    """Delete the code's own variables from a module or class, where they are bound and unused later."""
    if hole.block.scope.is_function:
        return
    tree = ast.parse(code)
    _, gone = _hoist_imports(tree, hole)
    tree.body = [statement for statement in tree.body if statement.lineno not in gone]
    nested = find_names(tree, hole.class_name).nested
    own = collect_bindings(ast.Module(tree.body, []), None).bound - set(hole.block.binds)
    names = sorted((own & find_bound_at_end(tree.body)) - nested.keys())
    names += [hole.helper] * (asks and hole.helper not in nested)
    if names:
        yield f"del {', '.join(names)}"
