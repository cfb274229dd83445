"""The extension of IPython: `%load_ext njc`, then `%%njpy` at the head of a cell, or `%njpy on` for all that follow.

    %%njpy
    \"\"\"natural
    Put the sum of <prices> into <:total>.
    \"\"\"

IPython reads a cell in three steps, and this takes part in two: among its input transformers, where the line `%%njpy`
becomes a comment, so that other magics, `!` and `?` keep their meaning, and among its transformers of syntax trees,
where the tree of the cell is replaced by that of its compiled form, with the lines of the cell. So tracebacks, `await`
at the top level and the value of the last expression are IPython's own.
"""

from __future__ import annotations

import ast
import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import njrt
from njc.frontend.parse import can_hold_blocks
from njc.notebook.cells import CellError, compile_cell, has_block
from njc.notebook.trace_output import CellTrace
from njc.project.config import find_project
from njrt.observability.accounts import Watch

MARK = "%%njpy"
MARKED = "#%%njpy"
WAKE_SECONDS = 0.2
"""Seconds after which the event loop of a kernel looks for an interrupt."""
UNMARKED = "natural code runs only below %%njpy at the head of its cell, or after %njpy on: here it is a string"
USAGE = "usage: %njpy on|off|trace|using SETTINGS; %%njpy at the head of a cell"


class NaturalCells:
    """Natural code in one shell (state: whether it is on, the cell at hand, the runs of its blocks)."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.is_on = False
        self.text = ""
        self.trace = CellTrace(())
        self.settings: dict[str, Any] = {}
        self._around = ExitStack()
        self._watch = Watch()

    # ── what IPython calls

    def mark(self, lines: list[str]) -> list[str]:
        """Turn a line `%%njpy` at the head of a cell into a comment."""
        for number, line in enumerate(lines):
            if line.strip() == MARK:
                return [*lines[:number], f"{MARKED}\n", *lines[number + 1 :]]
            if line.strip():
                break
        return lines

    def remember(self, lines: list[str]) -> list[str]:
        """Keep the text of the cell, whose tree comes next."""
        self.text = "".join(lines)
        return lines

    def visit(self, tree: ast.Module) -> ast.Module:
        """Replace the tree of a cell by that of its compiled form."""
        text = self.text
        is_natural = self.is_on or _is_marked(text)
        if not isinstance(tree, ast.Module) or not can_hold_blocks(text.encode()):
            return tree
        if not _is_tree_of(tree, text):
            return tree
        if not is_natural:
            if has_block(text):
                print(UNMARKED, file=sys.stderr)
            return tree
        from IPython.core.error import InputRejected

        options = find_project(Path.cwd() / "cell.njpy", os.environ).options
        try:
            cell = compile_cell(text, f"In[{self._get_number()}]", options)
        except CellError as error:
            print(error, file=sys.stderr)
            raise InputRejected("the natural code of this cell has errors") from None
        if cell.warnings:
            print(cell.warnings, file=sys.stderr)
        return cell.tree if cell.blocks else tree

    def _get_number(self) -> int:
        """Return the number of the cell at hand, as its prompt shows it."""
        kept = len(self.shell.history_manager.input_hist_parsed) - 1
        return kept or int(self.shell.execution_count)

    def begin_cell(self, *_: Any) -> None:
        """Watch the runs of a cell's blocks, under the settings of `%njpy using`."""
        self._leave_cell()
        self._watch = self._around.enter_context(njrt.watch())
        if self.settings:
            self._around.enter_context(njrt.using(**self.settings))
        with suppress(RuntimeError):  # a shell without a running event loop, as that of a terminal
            self._around.enter_context(waking(asyncio.get_running_loop()))

    def end_cell(self, *_: Any) -> None:
        """Keep the runs of a cell that had some."""
        if self._watch.runs:
            self.trace = CellTrace(self._watch.runs)
        self._leave_cell()

    def _leave_cell(self) -> None:
        around, self._around = self._around, ExitStack()
        with suppress(ValueError):  # IPython may end a cell in another context than it began in
            around.close()

    def njpy(self, line: str) -> CellTrace | None:
        """%njpy on|off: natural code in all cells that follow, or only below %%njpy.

        %njpy trace: the runs of the last cell with natural code.

        %njpy using model="openai/gpt-4.1", record="cells.jsonl": the arguments of `njrt.using` for all cells that
        follow, as Python; without any, none.
        """
        word, _, rest = line.strip().partition(" ")
        match word:
            case "on":
                self.is_on = True
            case "off":
                self.is_on = False
            case "trace":
                return self.trace
            case "using":
                settings = self.shell.ev(f"dict({rest})")
                with njrt.using(**settings):  # what is wrong with them is said now
                    self.settings = settings
            case _:
                print(USAGE, file=sys.stderr)
        return None


@contextmanager
def waking(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Wake an event loop regularly.

    ipykernel cancels a coroutine that is interrupted by a callback, which does not wake a loop that waits: without
    this, the coroutine goes on until something else happens.
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
    return next((line for line in text.splitlines() if line.strip()), "").strip() == MARKED


def _is_tree_of(tree: ast.Module, text: str) -> bool:
    """Return whether a tree is that of the text: IPython also has trees of its own to transform."""
    try:
        return ast.dump(ast.parse(text)) == ast.dump(tree)
    except (SyntaxError, ValueError):
        return False


def load(shell: Any) -> NaturalCells:
    """Add natural code to a shell; where it has it, nothing changes."""
    loaded: NaturalCells | None = getattr(shell, "_njc_cells", None)
    if loaded is not None:
        return loaded
    cells = shell._njc_cells = NaturalCells(shell)
    shell.input_transformers_cleanup.append(cells.mark)
    shell.input_transformers_post.append(cells.remember)
    shell.ast_transformers.append(cells)
    shell.events.register("pre_run_cell", cells.begin_cell)
    shell.events.register("post_run_cell", cells.end_cell)
    shell.register_magic_function(cells.njpy, "line", "njpy")
    return cells


def unload(shell: Any) -> None:
    """Take natural code out of a shell."""
    cells: NaturalCells | None = getattr(shell, "_njc_cells", None)
    if cells is None:
        return
    shell.input_transformers_cleanup.remove(cells.mark)
    shell.input_transformers_post.remove(cells.remember)
    shell.ast_transformers.remove(cells)
    shell.events.unregister("pre_run_cell", cells.begin_cell)
    shell.events.unregister("post_run_cell", cells.end_cell)
    shell.magics_manager.magics["line"].pop("njpy", None)
    del shell._njc_cells
