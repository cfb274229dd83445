"""Compiling the cell of a notebook.

    total = 0                                          total = 0
    \"\"\"natural                           ──compile_cell──>   _nj.run(\"\"\"natural ...\"\"\", lambda: (prices, total), ...)
    Put the sum of <prices> into <:total>.             ast.Module, with the lines of the cell
    \"\"\"

A cell is a module whose other variables are those of earlier cells. What types these have is not known before the cell
runs, so that blocks which read them have code, unless the cell or the block says otherwise.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from njc.compiler import analyze, compile_source, parse_compiled_tree
from njc.frontend.diagnostics import Diagnostic, render_diagnostic
from njc.frontend.source import SourceFile
from njrt.options import Options

EARLIER_CELLS = "\nfrom __main__ import *"
"""A line at the end of the text: with it, every name may be a variable of an earlier cell."""


class CellError(Exception):
    """A cell that cannot be compiled; the message shows all that is wrong, with its lines."""


@dataclass(frozen=True, slots=True)
class CompiledCell:
    """A cell with its blocks compiled."""

    tree: ast.Module
    blocks: int
    warnings: str
    """Findings that are no errors, as text; empty without any."""


def compile_cell(text: str, name: str, options: Options) -> CompiledCell:
    """Compile a cell, whose place in messages is `name`.

    Raises:
        CellError: the cell has errors.
    """
    source = SourceFile(name, (text + EARLIER_CELLS).encode(), is_cell=True)
    compilation = compile_source(source, project=options)
    found = [finding for finding in compilation.diagnostics if finding.severity != "hint"]
    if compilation.output is None:
        raise CellError(format_diagnostics(found, source))
    tree = parse_compiled_tree(compilation)
    tree.body = [statement for statement in tree.body if not _is_earlier_cells(statement)]
    if tree.body and compilation.blocks and _ends_with_block(tree.body[-1]):
        tree.body.append(
            ast.copy_location(ast.Pass(), tree.body[-1])
        )  # its call has no value to show
    return CompiledCell(tree, len(compilation.blocks), format_diagnostics(found, source))


def has_block(text: str) -> bool:
    """Return whether a cell has a natural block."""
    return bool(analyze(SourceFile("cell", text.encode(), is_cell=True)).blocks)


def format_diagnostics(findings: Sequence[Diagnostic], source: SourceFile) -> str:
    """Return the findings as in a terminal."""
    return "\n\n".join(render_diagnostic(finding, source) for finding in findings)


def _is_earlier_cells(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.ImportFrom)
        and statement.module == "__main__"
        and [alias.name for alias in statement.names] == ["*"]
    )


def _ends_with_block(statement: ast.stmt) -> bool:
    """Return whether a statement is the call of a block."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and isinstance(statement.value.func, ast.Attribute)
        and statement.value.func.attr == "run"
    )
