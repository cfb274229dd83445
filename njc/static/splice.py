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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from njc.compiler.codegen.emit import LINE_WIDTH, format_call
from njc.compiler.codegen.lower import (
    Argument,
    Contained,
    WrittenBlock,
    format_literal,
    list_given_options,
    make_lambda,
)
from njc.compiler.codegen.output_types import OutputTypes
from njc.compiler.frontend.name_resolution import Definition, collect_bindings
from njc.compiler.frontend.prompt_references import list_variables
from njc.static.assignment import find_bound_at_end
from njc.static.holes import Hole, find_taken_names, list_imports_on_own_lines, split_import
from njrt.data.options import Options
from njrt.execution.symbols import find_names

END_COMMENT = "# end of natural block"


def place_static_code(
    code: str, hole: Hole, project: Options, runtime: str, types: OutputTypes
) -> WrittenBlock:
    """Make the block's replacement from locked code, with checks of the outputs' types."""
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


def list_lines(statements: Iterable[ast.stmt]) -> set[int]:
    """Return the numbers of the lines that contain part of one of these statements."""
    return {
        line
        for statement in statements
        for line in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
    }


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
    """Yield the lines that check the types of the outputs."""
    placement = hole.block.placement
    room = LINE_WIDTH - len(placement.indent.expandtabs(4)) - 4 * placement.one_line
    for path, type_ in types.by_path.items():
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
    """Return the hole, with names taken if this or the file's other code not only imports them."""
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
    """Map each name in code to the movable import that alone binds it, as text; otherwise to ""."""
    tree = ast.parse(code)
    meanings = dict.fromkeys(find_taken_names(tree, ()), "")
    for statement in list_imports_on_own_lines(tree):
        rest = ast.Module([other for other in tree.body if other is not statement], [])
        bound = collect_bindings(rest, None).bound
        meanings |= {name: text for text, name in split_import(statement) if name not in bound}
    return meanings


def _render_deletion(tree: ast.Module, hole: Hole, asks: bool) -> Iterator[str]:
    """Delete the code's own variables from a module or class if they are bound and unused later."""
    if hole.block.scope.is_function:
        return
    nested = find_names(tree, hole.class_name).nested
    own = collect_bindings(tree, None).bound - set(hole.block.binds)
    names = sorted((own & find_bound_at_end(tree.body)) - nested.keys())
    names += [hole.helper] * (asks and hole.helper not in nested)
    if names:
        yield f"del {', '.join(names)}"
