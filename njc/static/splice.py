"""Locked code in the form that it has in the compiled file.

    import re                           hoisted to the head of the file
    count = len(re.findall("a", s))  -> # natural
                                        # Count the a's in <s>, into <:count>.
                                        count = len(re.findall("a", s))
                                        # end of natural block

The result does not depend on tools or settings: the same code always gives the same bytes.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from njc.analysis.assignment import find_bound_at_end
from njc.codegen.emit import LINE_WIDTH, format_call
from njc.codegen.lower import (
    Argument,
    Contained,
    WrittenBlock,
    format_literal,
    list_given_options,
    make_lambda,
)
from njc.codegen.output_types import OutputTypes
from njc.frontend.name_resolution import Definition, collect_bindings, list_suites
from njc.frontend.prompt_references import list_variables
from njc.static.holes import (
    Hole,
    find_taken_names,
    list_imports_on_own_lines,
    make_fresh_name,
    split_import,
)
from njrt.execution.symbols import find_names
from njrt.options import Options

END_COMMENT = "# end of natural block"


def place_static_code(
    code: str, hole: Hole, project: Options, runtime: str, types: OutputTypes
) -> WrittenBlock:
    """Make the text that replaces the block, from locked code, with checks of the outputs' types."""
    tree = ast.parse(code)
    hoisted, gone = _hoist_imports(tree, hole)
    lines = code.split("\n")
    kept = "\n".join(line for number, line in enumerate(lines, 1) if number not in gone).strip("\n")
    asks = asks_model(tree, hole)
    above = list(_render_declarations(tree, hole))
    if asks:
        above.append(_render_helper(hole, project, runtime))
    at_margin = not (hole.block.placement.indent or hole.block.placement.one_line)
    blank = [""] * (1 + at_margin)
    own_tree = ast.parse(kept)
    own = own_tree.body
    checks = list(_render_checks(hole, types, runtime))
    below = [*checks, *_render_deletion(own_tree, hole, asks), END_COMMENT]
    parts = [
        "# natural",
        *(f"# {line}".rstrip() for line in hole.instruction.split("\n")),
        *above,
        *(blank if own and isinstance(own[0], Definition) and (above or at_margin) else []),
        *([kept] if kept else []),
        *(blank if own and isinstance(own[-1], Definition) else []),
        *below,
    ]
    return WrittenBlock(hole.block, "\n".join(parts), hoisted, asks or bool(checks))


def place_contained_code(code: str, hole: Hole, project: Options, runtime: str) -> WrittenBlock:
    """Make a call that runs locked code in a separate process."""
    asks = asks_model(ast.parse(code), hole)
    names = tuple(
        name for name in hole.visible if name in hole.block.names or not hasattr(builtins, name)
    )
    contained = Contained(names, _render_helper(hole, project, runtime) if asks else "")
    return WrittenBlock(hole.block, code.strip("\n"), contained=contained)


def asks_model(tree: ast.Module, hole: Hole) -> bool:
    """Return whether code calls the function that asks a model."""
    return hole.helper in list_variables(tree)


def place_auto_code(code: str, hole: Hole, runtime: str, shapes: Mapping[str, str]) -> WrittenBlock:
    """Make the text that is tried before the live block, from locked code.

    The shapes of the values and the first `assert`s of the code become the guard.
    """
    tree = ast.parse(code)
    asserts = list(list_guard_asserts(tree))
    hoisted, gone = _hoist_imports(tree, hole)
    gone |= list_lines(asserts)
    name = make_fresh_name(f"{runtime}_try", hole.taken)
    # Unless the text asks for an assert, a failed one leaves the values to the live block.
    is_asked = "assert" in hole.instruction.lower()
    lines = _mark_exits(code, [each for each in tree.body if each not in asserts], name, is_asked)
    kept = [line for number, line in enumerate(lines, 1) if number not in gone]
    conditions = tuple(_format_condition(statement, code) for statement in asserts)
    body = "\n".join(kept).strip("\n") or "pass"
    expected = tuple((name, shape) for name, shape in shapes.items() if name in hole.visible)
    return WrittenBlock(hole.block, body, hoisted, True, name, expected, conditions)


def list_guard_asserts(tree: ast.Module) -> Iterator[ast.Assert]:
    """Yield the `assert`s at the start of code, ignoring imports."""
    for statement in tree.body:
        if isinstance(statement, ast.Assert):
            yield statement
        elif not isinstance(statement, ast.Import | ast.ImportFrom):
            return


def list_lines(statements: Iterable[ast.stmt]) -> set[int]:
    """Return the numbers of the lines that contain part of one of these statements."""
    return {
        line
        for statement in statements
        for line in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
    }


def _format_condition(statement: ast.Assert, code: str) -> str:
    written = ast.get_source_segment(code, statement.test)
    text = ast.unparse(statement.test) if written is None or "\n" in written else written
    is_loose = isinstance(statement.test, ast.BoolOp | ast.IfExp | ast.Lambda | ast.NamedExpr)
    return f"({text})" if is_loose else text


def _mark_exits(code: str, body: list[ast.stmt], name: str, asserts: bool) -> list[str]:
    """Mark how the code leaves the block: its own exceptions, to distinguish them from errors, and its jumps.

    With `asserts`, failed asserts also leave the block. Each returned text replaces a line of the code; it has two
    lines if a statement was inserted.
    """
    lines = code.split("\n")
    for statement in reversed(list(_find_exits(body))):
        match statement:
            case ast.Assert(test=test) if asserts:
                _wrap_expression(lines, test, "(", f') or {name}.note("assert")')
            case ast.Raise(exc=ast.expr() as value):
                _wrap_expression(lines, value, f"{name}.meant(")
            case ast.Raise():
                _insert_statement(lines, statement, f"{name}.meant()")
            case ast.Break() | ast.Continue() | ast.Return():
                jump = type(statement).__name__.lower()
                _insert_statement(lines, statement, f'{name}.note("{jump}")')
    return lines


def _wrap_expression(lines: list[str], expression: ast.expr, call: str, closing: str = ")") -> None:
    last, end = (expression.end_lineno or 0) - 1, expression.end_col_offset or 0
    bare = isinstance(expression, ast.Tuple) and not _is_in_parentheses(expression, lines)
    lines[last] = _insert_text(lines[last], end, f"){closing}" if bare else closing)
    first = expression.lineno - 1
    lines[first] = _insert_text(lines[first], expression.col_offset, f"{call}(" if bare else call)


def _is_in_parentheses(expression: ast.Tuple, lines: list[str]) -> bool:
    """Distinguish `(a, b)`, one item of a list, from `(a), (b)`."""
    written = ast.get_source_segment("\n".join(lines), expression)
    items = ast.parse(f"[{written}]", mode="eval").body.elts  # type: ignore[attr-defined]
    return [*map(ast.dump, items)] == [ast.dump(expression)]


def _insert_statement(lines: list[str], before: ast.stmt, text: str) -> None:
    """Put a statement before another: on a separate line, if the other starts its line."""
    number, column = before.lineno - 1, before.col_offset
    margin = lines[number].encode()[:column].decode()
    separator = "; " if margin.strip() else f"\n{margin}"
    lines[number] = _insert_text(lines[number], column, f"{text}{separator}")


def _insert_text(line: str, utf8_column: int, text: str) -> str:
    data = line.encode()
    return data[:utf8_column].decode() + text + data[utf8_column:].decode()


def _find_exits(body: Sequence[ast.stmt], in_loop: bool = False) -> Iterator[ast.stmt]:
    """Yield the statements that leave the block, or may leave it, in order, but no jumps within inner loops."""
    for statement in body:
        match statement:
            case ast.Raise() | ast.Assert() | ast.Return():
                yield statement
            case ast.Break() | ast.Continue() if not in_loop:
                yield statement
            case ast.For() | ast.AsyncFor() | ast.While():
                yield from _find_exits(statement.body, True)
                yield from _find_exits(statement.orelse, in_loop)
            case _:
                for suite in list_suites(statement):
                    yield from _find_exits(suite, in_loop)


def _render_declarations(tree: ast.Module, hole: Hole) -> Iterator[str]:
    """Declare the types that only the prompt gives, for readers and type checkers."""
    if not hole.block.scope.is_function:
        return
    annotated = collect_bindings(tree, None).annotations.keys()
    said = {**hole.block.scope.bindings.annotations, **hole.block.scope.bindings.parameters}
    defined = hole.bound_before | annotated | said.keys()
    for path in hole.block.binds:
        if path in hole.types and path not in defined:
            yield f"{path}: {hole.types[path]}"


def _render_checks(hole: Hole, types: OutputTypes, runtime: str) -> Iterator[str]:
    """Yield the lines that check the types of the outputs; none in raw mode."""
    placement = hole.block.placement
    room = LINE_WIDTH - len(placement.indent.expandtabs(4)) - 4 * placement.one_line
    for path, type_ in types.by_path.items() if hole.mode != "static-raw" else ():
        parts = (format_literal(hole.place), format_literal(path), path)
        given = [*map(Argument, parts), Argument(f"{make_lambda(types)}: {type_}")]
        yield from format_call(f"{runtime}.check_type", given, room)


def _render_helper(hole: Hole, project: Options, runtime: str) -> str:
    """Return the helper with the block's place and options."""
    options = [
        f"{name}={format_literal(value)}" for name, value in list_given_options(hole.block.options)
    ]
    said = [f'"{name}": {format_literal(value)}' for name, value in list_given_options(project)]
    options += [f"project={{{', '.join(said)}}}"] * bool(said)
    kind = "allm_at" if hole.block.scope.is_async else "llm_at"
    return f"{hole.helper} = {runtime}.{kind}({', '.join([format_literal(hole.place), *options])})"


def _hoist_imports(tree: ast.Module, hole: Hole) -> tuple[tuple[str, ...], set[int]]:
    """Return the imports that move to the head of the file, and their lines in the code."""
    hoisted: list[str] = []
    gone: set[int] = set()
    for statement in list_imports_on_own_lines(tree):
        new = [pair for pair in split_import(statement) if pair[0] not in hole.imports]
        if hole.taken.isdisjoint(name for _, name in new):
            hoisted += [text for text, _ in new]
            gone |= list_lines([statement])
    return tuple(hoisted), gone


def keep_rival_imports(hole: Hole, code: str, others: Iterable[str]) -> Hole:
    """Return the hole with names marked as taken if this code, or other code in the file, not only imports them."""
    meanings = _find_meanings(code)
    rivals = {name for name, text in meanings.items() if not text}
    for other in others:
        rivals |= {
            name for name, text in _find_meanings(other).items() if meanings.get(name, text) != text
        }
    imports = {text for text in hole.imports if rivals.isdisjoint(_find_meanings(text))}
    return replace(hole, taken=hole.taken | rivals, imports=frozenset(imports))


@lru_cache(maxsize=1_000)
def _find_meanings(code: str) -> Mapping[str, str]:
    """Map each name in code to its import, as text, if only this movable import binds it; otherwise to ""."""
    tree = ast.parse(code)
    meanings = dict.fromkeys(find_taken_names(tree, ()), "")
    for statement in list_imports_on_own_lines(tree):
        rest = ast.Module([other for other in tree.body if other is not statement], [])
        bound = collect_bindings(rest, None).bound
        meanings |= {name: text for text, name in split_import(statement) if name not in bound}
    return meanings


def _render_deletion(tree: ast.Module, hole: Hole, asks: bool) -> Iterator[str]:
    """Delete the code's own variables from a module or class, if they are bound and not used later."""
    if hole.block.scope.is_function:
        return
    nested = find_names(tree, hole.class_name).nested
    own = collect_bindings(tree, None).bound - set(hole.block.binds)
    names = sorted((own & find_bound_at_end(tree.body)) - nested.keys())
    names += [hole.helper] * (asks and hole.helper not in nested)
    if names:
        yield f"del {', '.join(names)}"
