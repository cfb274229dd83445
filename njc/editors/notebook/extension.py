"""The IPython extension: `%load_ext njc`, then `%%njpy` at the head of a cell, or `%njpy on`.

    %%njpy
    \"\"\"natural
    Put the sum of <prices> into <:total>.
    \"\"\"

An input transformer turns the line `%%njpy` into a comment, so that other magics, `!` and `?` keep
their meaning. An AST transformer replaces the cell's tree with its compiled form, with the cell's
line numbers: tracebacks, top-level `await` and the value of the last expression still work as in
IPython. A cell is a module; the types of earlier cells' variables are unknown, so blocks that read
them run code. A name in brackets must be bound in the cell or in the shell.
"""

from __future__ import annotations

import ast
import asyncio
import os
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import takewhile
from keyword import iskeyword
from pathlib import Path
from typing import Any

import njrt
from njc.compiler.analysis.unmarked import may_have_unmarked
from njc.compiler.compiler import Compilation, analyze, compile_source, parse_compiled_tree
from njc.compiler.frontend.diagnostics import Diagnostic, render_diagnostic
from njc.compiler.frontend.parse import can_hold_blocks, parse_quietly
from njc.compiler.frontend.source import SourceFile
from njc.debug.timeline.effect_text import format_effect
from njc.project.config import find_project
from njc.project.report import format_count
from njrt.data.options import Options
from njrt.data.records import record, replace
from njrt.effects import Refusal
from njrt.log.accounts import PerformedEffect, RunAccount, Watch, format_cost
from njrt.values.effect_json import effect_to_json

_MAGIC = "get_ipython()"
EARLIER_CELLS = "\nfrom __main__ import *"
"""A line added to the text's end, so that every name may be a variable from an earlier cell."""


class CellError(Exception):
    """A cell that cannot be compiled; the message shows all errors, with their lines."""


@record
class CompiledCell:
    """A cell with its blocks compiled."""

    tree: ast.Module
    blocks: int
    warnings: str
    """Findings that are not errors, as text; empty without any."""


def compile_cell(text: str, name: str, options: Options, bound: Iterable[str]) -> CompiledCell:
    """Compile a cell, named `name` in messages, for a shell with the names `bound`.

    Raises CellError if the cell has errors. The names of a cell with magics, which may bind names,
    are not checked.
    """
    source = SourceFile(name, (text + EARLIER_CELLS).encode(), "utf-8", is_cell=True)
    compilation = compile_source(source, project=options)
    found = [finding for finding in compilation.diagnostics if finding.severity != "hint"]
    known = ["__name__", *(it for it in bound if it.isidentifier() and not iskeyword(it))]
    checked = f"{text}\nfrom __main__ import {'*' if _MAGIC in text else ', '.join(known)}"
    findings = analyze(replace(source, data=checked.encode())).diagnostics
    unbound = [finding for finding in findings if finding.code == "NJ201"]
    if compilation.output is None or unbound:
        raise CellError(format_diagnostics(sorted({*found, *unbound}), source))
    tree = parse_compiled_tree(compilation)
    earlier = EARLIER_CELLS.strip()
    tree.body = [statement for statement in tree.body if ast.unparse(statement) != earlier]
    if tree.body and compilation.blocks and not _ends_with_value(compilation):
        # A block's call has no value to show.
        tree.body.append(ast.copy_location(ast.Pass(), tree.body[-1]))
    return CompiledCell(tree, len(compilation.blocks), format_diagnostics(found, source))


def format_diagnostics(findings: Sequence[Diagnostic], source: SourceFile) -> str:
    """Return the findings as they appear in a terminal."""
    return "\n\n".join(render_diagnostic(finding, source) for finding in findings)


def _ends_with_value(compilation: Compilation) -> bool:
    """Return whether a cell's last statement is an expression other than a block."""
    source = compilation.source
    last = parse_quietly(source.text).body[-2]  # before the line for earlier cells
    start = source.get_offset(last.lineno, last.col_offset)
    return isinstance(last, ast.Expr) and all(block.start != start for block in compilation.blocks)


def format_runs(runs: Iterable[RunAccount]) -> str:
    """Return the runs of a cell's blocks, each with its effects and the answers to the model."""
    lines = []
    for run in runs:
        totals = run.totals
        figures = (
            run.place,
            run.model,
            f"{run.outcome}: {run.error}" if run.error else run.outcome,
            f"{totals.seconds:.1f} s",
            format_count(totals.calls, "call"),
            f"{totals.tokens:,} tokens",
            format_cost(totals.usd, totals.unpriced),
        )
        texts = "\n".join(map(_format_effect, run.effects))
        lines += ["  ".join(figures), textwrap.indent(texts, "    ")]
    return "\n".join(filter(None, lines)) or "no block has run"


def _format_effect(done: PerformedEffect) -> str:
    effect = done.effect
    is_unreadable = isinstance(effect, Refusal)
    text = "(unreadable)" if is_unreadable else format_effect(effect_to_json(effect)).rstrip()
    if done.is_refused:
        return f"{text}\n  refused: {done.result}"
    return text if done.result == "completed" else f"{text}\n  -> {done.result}"


MARK = "%%njpy"
MARKED = "#%%njpy"
WAKE_SECONDS = 0.2
"""Seconds after which a kernel's event loop checks for an interrupt."""
UNMARKED = (
    "natural code runs only below %%njpy at the head of its cell, or after %njpy on: here it is a"
    " string"
)
USAGE = "usage: %njpy on|off|trace|using SETTINGS; %%njpy at the head of a cell"


@record
class OpenCell:
    """A running cell: IPython's object, its blocks' watch, and the contexts to leave at its end."""

    info: object
    watch: Watch
    around: ExitStack


class NaturalCells:
    """Natural code in a shell (state: whether it is on, the running cells, their blocks' runs)."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.is_on = False
        self.text = ""
        self.runs: Sequence[RunAccount] = ()
        """Those of the last cell with blocks."""
        self.settings: dict[str, Any] = {}
        self._open_cells: list[OpenCell] = []

    # ── what IPython calls

    def mark(self, lines: list[str]) -> list[str]:
        """Turn the line `%%njpy` at the head of a cell into a comment."""
        for number, line in enumerate(lines):
            if line.strip() == MARK:
                return [*lines[:number], f"{MARKED}\n", *lines[number + 1 :]]
            if line.strip() and not line.lstrip().startswith("#"):
                break
        return lines

    def remember(self, lines: list[str]) -> list[str]:
        self.text = "".join(lines)
        return lines

    def visit(self, tree: ast.Module) -> ast.Module:
        """Replace a cell's tree with the tree of its compiled form."""
        text = self.text
        is_natural = self.is_on or _is_marked(text)
        may_hold = can_hold_blocks(text.encode()) or (
            is_natural and may_have_unmarked(text.encode())
        )
        if not (isinstance(tree, ast.Module) and may_hold and _is_tree_of(tree, text)):
            return tree
        if not is_natural:
            if analyze(SourceFile("cell", text.encode(), "utf-8", is_cell=True)).blocks:
                print(UNMARKED, file=sys.stderr)
            return tree
        from IPython.core.error import InputRejected

        options = find_project(Path.cwd() / "cell.njpy", os.environ).options
        try:
            bound = {**self.shell.user_global_ns, **self.shell.user_ns}
            cell = compile_cell(text, f"In[{self._get_number()}]", options, bound)
        except CellError as error:
            print(error, file=sys.stderr)
            raise InputRejected("the natural code of this cell has errors") from None
        if cell.warnings:
            print(cell.warnings, file=sys.stderr)
        return cell.tree if cell.blocks else tree

    def _get_number(self) -> int:
        """Return the current cell's number, as shown in its prompt."""
        kept = len(self.shell.history_manager.input_hist_parsed) - 1
        return kept or int(self.shell.execution_count)

    def begin_cell(self, info: object = None) -> None:
        """Watch the runs of a cell's blocks, under the settings of `%njpy using`."""
        around = ExitStack()
        self._open_cells.append(OpenCell(info, around.enter_context(njrt.watch()), around))
        if self.settings:
            around.enter_context(njrt.using(**self.settings))
        with suppress(RuntimeError):  # a shell without a running event loop, such as in a terminal
            around.enter_context(waking(asyncio.get_running_loop()))

    def end_cell(self, result: Any = None) -> None:
        """End a cell, and the open cells inside it; an empty cell was never open."""
        info = getattr(result, "info", None)
        while any(cell.info is info for cell in self._open_cells):
            cell = self._open_cells.pop()
            if cell.watch.runs:
                self.runs = cell.watch.runs
            # IPython may end a cell in a different context from the one that it started in.
            with suppress(ValueError):
                cell.around.close()

    def njpy(self, line: str) -> None:
        """%njpy on|off: natural code in all cells that follow, or only below %%njpy.

        %njpy trace: the runs of the last cell with natural code.

        %njpy using model="openai/gpt-4.1", record="cells.jsonl": the arguments of `njrt.using` for
        all cells that follow, as Python; without any, none.
        """
        word, _, rest = line.strip().partition(" ")
        match word:
            case "on":
                self.is_on = True
            case "off":
                self.is_on = False
            case "trace":
                print(format_runs(self.runs))
            case "using":
                settings = self.shell.ev(f"dict({rest}\n)")
                with njrt.using(**settings):  # reports mistakes in them now
                    self.settings = settings
            case _:
                print(USAGE, file=sys.stderr)


@contextmanager
def waking(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Wake an event loop regularly.

    ipykernel cancels an interrupted coroutine with a callback, which does not wake a waiting loop:
    without this, the coroutine would continue until something else happens.
    """
    next_call: asyncio.Handle = loop.call_soon(lambda: wake())

    def wake() -> None:
        nonlocal next_call
        next_call = loop.call_later(WAKE_SECONDS, wake)

    try:
        yield
    finally:
        next_call.cancel()


def _is_marked(text: str) -> bool:
    lines = filter(None, map(str.strip, text.splitlines()))
    return MARKED in takewhile(lambda line: line.startswith("#"), lines)


def _is_tree_of(tree: ast.Module, text: str) -> bool:
    """Return whether a tree is the text's tree: IPython also transforms other trees."""
    try:
        return ast.dump(ast.parse(text)) == ast.dump(tree)
    except (SyntaxError, ValueError):
        return False


def load(shell: Any) -> NaturalCells:
    """Add natural code to a shell, unless it already has it."""
    loaded: NaturalCells | None = getattr(shell, "_njc_cells", None)
    if loaded is not None:
        return loaded
    from IPython.core.magic import no_var_expand

    cells = shell._njc_cells = NaturalCells(shell)
    shell.input_transformers_cleanup.append(cells.mark)
    shell.input_transformers_post.append(cells.remember)
    shell.ast_transformers.append(cells)
    shell.events.register("pre_run_cell", cells.begin_cell)
    shell.events.register("post_run_cell", cells.end_cell)
    no_var_expand(NaturalCells.njpy)  # its braces are Python
    shell.register_magic_function(cells.njpy, "line", "njpy")
    return cells
