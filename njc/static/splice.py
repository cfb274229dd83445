"""Kept code as it stands in the compiled file.

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

from njc.codegen.lower import WrittenBlock, format_literal, list_given_options
from njc.frontend.names import collect_bindings, list_suites
from njc.static.checks.binding import find_bound_at_end
from njc.static.fresh_names import make_fresh_name
from njc.static.holes import Hole, has_own_lines, split_import
from njrt.execution.symbols import find_names
from njrt.options import Options

END_COMMENT = "# end of natural block"


def place_static_code(code: str, gap: Hole, project: Options, runtime: str) -> WrittenBlock:
    """Make of kept code what stands in the gap."""
    tree = ast.parse(code)
    hoisted, gone = _hoist_imports(tree, gap)
    lines = code.split("\n")
    kept = "\n".join(line for number, line in enumerate(lines, 1) if number not in gone).strip("\n")
    asks = any(isinstance(node, ast.Name) and node.id == gap.helper for node in ast.walk(tree))
    above = [
        *_render_declarations(tree, gap),
        *([_render_helper(gap, project, runtime)] if asks else []),
    ]
    below = [*_render_deletion(code, gap, asks), END_COMMENT]
    at_margin = not (gap.block.placement.indent or gap.block.placement.one_line)
    blank = [""] * (1 + at_margin)
    own = ast.parse(kept).body
    parts = [
        *_render_prompt(gap),
        *above,
        *(blank if own and _is_definition(own[0]) and (above or at_margin) else []),
        *([kept] if kept else []),
        *(blank if own and _is_definition(own[-1]) else []),
        *below,
    ]
    return WrittenBlock(gap.block, "\n".join(parts), hoisted, asks)


def _is_definition(statement: ast.stmt) -> bool:
    """Whether black puts blank lines around the statement."""
    return isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)


def place_auto_code(code: str, gap: Hole, runtime: str, shapes: Mapping[str, str]) -> WrittenBlock:
    """Make of kept code what is tried before the live block.

    The shapes of the values and its first `assert`s become the guard.
    """
    tree = ast.parse(code)
    asserts = list(
        itertools.takewhile(lambda each: isinstance(each, ast.Assert), _list_own_statements(tree))
    )
    hoisted, gone = _hoist_imports(tree, gap)
    for each in asserts:
        gone |= set(range(each.lineno, (each.end_lineno or each.lineno) + 1))
    name = make_fresh_name(f"{runtime}_try", gap.taken)
    lines = _mark_raises(code, tree, name).split("\n")
    kept = [line for number, line in enumerate(lines, 1) if number not in gone]
    conditions = tuple(_format_condition(each, code) for each in asserts)
    body = "\n".join(kept).strip("\n") or "pass"
    expected = tuple((each, shape) for each, shape in shapes.items() if each in gap.visible)
    return WrittenBlock(gap.block, body, hoisted, True, name, expected, conditions)


def _list_own_statements(tree: ast.Module) -> list[ast.stmt]:
    return [each for each in tree.body if not isinstance(each, ast.Import | ast.ImportFrom)]


def _format_condition(statement: ast.stmt, code: str) -> str:
    assert isinstance(statement, ast.Assert)
    written = ast.get_source_segment(code, statement.test)
    text = ast.unparse(statement.test) if written is None or "\n" in written else written
    return f"({text})" if isinstance(statement.test, _NEEDS_PARENTHESES) else text


_NEEDS_PARENTHESES = (ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr)


def _mark_raises(code: str, tree: ast.Module, name: str) -> str:
    """Mark what the block itself raises, so that it is told from what goes wrong."""
    lines = code.split("\n")
    raised = [each.exc for each in _find_raises(tree.body) if each.exc is not None]
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
    """The `raise` statements of the block's own, in the order of the text: none of inner functions."""
    for statement in body:
        if isinstance(statement, ast.Raise):
            yield statement
        for suite in list_suites(statement):
            yield from _find_raises(suite)


def _render_prompt(gap: Hole) -> Iterator[str]:
    """The prompt as a comment."""
    yield "# natural"
    for line in gap.instruction.split("\n"):
        yield f"# {line}".rstrip()


def _render_declarations(tree: ast.Module, gap: Hole) -> Iterator[str]:
    """Declare the types that the prompt gives and nothing else says, for readers and type checkers."""
    if not gap.block.scope.is_function:
        return
    annotated = set()
    for node in ast.walk(tree):
        match node:
            case ast.AnnAssign(target=ast.Name(id=name)):
                annotated.add(name)
    said = {**gap.block.scope.bindings.annotations, **gap.block.scope.bindings.parameters}
    defined = gap.bound_before | annotated | said.keys()
    for path in gap.block.binds:
        if path in gap.types and path not in defined:
            yield f"{path}: {gap.types[path]}"


def _render_helper(gap: Hole, project: Options, runtime: str) -> str:
    """The helper with the place and the options of the block."""
    options = [
        f"{name}={format_literal(value)}" for name, value in list_given_options(gap.block.options)
    ]
    said = [f'"{name}": {format_literal(value)}' for name, value in list_given_options(project)]
    options += [f"project={{{', '.join(said)}}}"] * bool(said)
    kind = "allm_at" if gap.block.scope.is_async else "llm_at"
    return f"{gap.helper} = {runtime}.{kind}({', '.join([format_literal(gap.place), *options])})"


def _hoist_imports(tree: ast.Module, gap: Hole) -> tuple[tuple[str, ...], set[int]]:
    """The imports that go to the head of the file, and the lines that are then gone from the code."""
    hoisted: list[str] = []
    gone: set[int] = set()
    for statement in tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom) and has_own_lines(statement, tree):
            new = [each for each in split_import(statement) if each[0] not in gap.imports]
            if gap.taken.isdisjoint(name for _, name in new):
                hoisted += [text for text, _ in new]
                gone |= set(range(statement.lineno, (statement.end_lineno or 0) + 1))
    return tuple(hoisted), gone


def _render_deletion(code: str, gap: Hole, asks: bool) -> Iterator[str]:
    """Take the code's own variables out of a module or class, as far as they are bound and unused later."""
    if gap.block.scope.is_function:
        return
    tree = ast.parse(code)
    _, gone = _hoist_imports(tree, gap)
    tree.body = [each for each in tree.body if each.lineno not in gone]
    nested = find_names(tree, gap.class_name).nested
    own = collect_bindings(ast.Module(tree.body, []), None).bound - set(gap.block.binds)
    names = sorted((own & find_bound_at_end(tree.body)) - nested.keys())
    names += [gap.helper] * (asks and gap.helper not in nested)
    if names:
        yield f"del {', '.join(names)}"
