"""Accepted code as it is locked: names that the program does not use, formatted by black, with its comments.

    total=0                             total_2 = 0         the function has a `total` that the block may not see
    for x in xs: total+=x  # all   ->   for x in xs:
                                            total_2 += x  # all

This needs the extra `static`; locked code is built without it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from njc.codegen.indent import find_lines_in_strings, indent_code
from njc.frontend.names import FunctionDefinition, collect_bindings
from njc.static.fresh_names import make_fresh_name
from njc.static.holes import Hole, split_import
from njrt.execution.guard.allowed import IMPORTABLE_MODULES
from njrt.packages import require_packages

LINE_LENGTH = 88


def require_extra() -> None:
    """Raise ConfigurationError unless libcst and black are installed."""
    otherwise = "build what is locked with --locked"
    require_packages("generating code", "njpy[static]", "black", "libcst", otherwise=otherwise)


def normalize_code(code: str, hole: Hole) -> str:
    """Rename the code's own names where they are taken, and format it for its place."""
    renamed = find_renames(code, hole)
    placement = hole.block.placement
    depth = len(placement.indent.expandtabs(4)) // 4 + placement.one_line + (hole.mode == "auto")
    return format_with_black(rename_variables(code, renamed) if renamed else code, depth)


def find_renames(code: str, hole: Hole) -> dict[str, str]:
    """New names for the code's own names that mean something else around it."""
    tree = ast.parse(code)
    imported = [
        pair
        for statement in ast.walk(tree)
        if isinstance(statement, ast.Import | ast.ImportFrom)
        for pair in split_import(statement)
    ]
    same = {name for text, name in imported if text in hole.imports}
    modules = IMPORTABLE_MODULES - {name for _, name in imported}
    taken = hole.taken_here | modules | {name for _, name in imported if name in hole.taken}
    own = collect_bindings(tree, None).bound - {*hole.block.binds, *hole.visible} - same
    used = taken | own
    return {name: make_fresh_name(name, used) for name in sorted(own & taken)}


def find_unrenamable_names(code: str, hole: Hole) -> list[str]:
    """Return the names to be renamed that the code also uses for parameters or attributes."""
    others = {
        name
        for node in ast.walk(ast.parse(code))
        for name in (
            {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}
            if isinstance(node, FunctionDefinition | ast.Lambda)
            else collect_bindings(node, None).bound
            if isinstance(node, ast.ClassDef)
            else ()
        )
    }
    return [name for name in find_renames(code, hole) if name in others]


def rename_variables(code: str, renamed: Mapping[str, str]) -> str:
    """Rename variables throughout the code, comments and layout untouched."""
    import libcst

    class Renaming(libcst.CSTTransformer):
        def leave_Name(
            self, original_node: libcst.Name, updated_node: libcst.Name
        ) -> libcst.BaseExpression:
            return updated_node.with_changes(
                value=renamed.get(updated_node.value, updated_node.value)
            )

        def leave_Attribute(
            self, original_node: libcst.Attribute, updated_node: libcst.Attribute
        ) -> libcst.BaseExpression:
            return updated_node.with_changes(attr=original_node.attr)

        def leave_Arg(self, original_node: libcst.Arg, updated_node: libcst.Arg) -> libcst.Arg:
            return updated_node.with_changes(keyword=original_node.keyword)

        def leave_ImportAlias(
            self, original_node: libcst.ImportAlias, updated_node: libcst.ImportAlias
        ) -> libcst.ImportAlias:
            imported: libcst.ImportAlias = _rename_import(original_node, updated_node, renamed)
            return imported

    return libcst.parse_module(code).visit(Renaming()).code


def _rename_import(original: Any, updated: Any, renamed: Mapping[str, str]) -> Any:
    """Import under the new name: `import re` becomes `import re as re_2`."""
    import libcst

    if original.asname is not None or not isinstance(original.name, libcst.Name):
        return updated.with_changes(name=original.name)
    new = renamed.get(original.name.value)
    asname = libcst.AsName(libcst.Name(new)) if new else None
    return updated.with_changes(name=original.name, asname=asname)


def format_with_black(code: str, depth: int) -> str:
    """Format code as black would in its place."""
    import black

    mode = black.Mode(line_length=max(LINE_LENGTH - 4 * max(depth - 1, 0), 48))
    if not depth:
        return black.format_str(code, mode=mode).rstrip("\n")
    inner = black.format_str(f"if True:\n{indent_code(code, '    ')}\n", mode=mode)
    lines = inner.rstrip("\n").split("\n")[1:]
    kept = find_lines_in_strings("if True:\n" + "\n".join(lines))
    return "\n".join(
        line if number in kept else line.removeprefix("    ")
        for number, line in enumerate(lines, 2)
    ).strip("\n")
