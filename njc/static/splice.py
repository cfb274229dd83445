"""Locked code in the form that it has in the compiled file.

    import re                        -> # natural
    count = len(re.findall("a", s))     # Count the a's in <s>, into <:count>.
                                        import re
                                        count = len(re.findall("a", s))
                                        # end of natural block

The result does not depend on tools or settings: the same code always gives the same bytes.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

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
from njc.compiler.frontend.name_resolution import collect_bindings
from njc.compiler.frontend.prompt_references import list_variables
from njc.static.holes import Hole
from njrt.data.options import Options

END_COMMENT = "# end of natural block"


def place_static_code(
    code: str, hole: Hole, project: Options, runtime: str, types: OutputTypes
) -> WrittenBlock:
    """Make the block's replacement from locked code, with checks of the outputs' types."""
    tree = ast.parse(code)
    asks = asks_model(tree, hole)
    above = list(_render_declarations(tree, hole))
    if asks:
        above.append(_render_helper(hole, project, runtime))
    checks = list(_render_checks(hole, types, runtime))
    parts = [
        "# natural",
        *(f"# {line}".rstrip() for line in hole.instruction.split("\n")),
        *above,
        *([text] if (text := code.strip("\n")) else []),
        *checks,
        END_COMMENT,
    ]
    return WrittenBlock(hole.block, "\n".join(parts), asks or bool(checks))


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
