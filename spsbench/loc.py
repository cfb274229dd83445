"""Lines of code of the natural and the manual programs.

    count_lengths()               (Length("average_of_three", natural=6, manual=8), ...)
    format_length_table(lengths)  the text that `spsbench loc` prints, with the paper's means

Lines are counted as in the paper: after formatting by Black to 120 columns, without blank lines,
comments and docstrings. Prompt lines count in both kinds of programs, as does the import of `llm`.
The programs contain no test harness.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import mean

from njc.compiler.compiler import compile_source
from njc.compiler.frontend.source import SourceFile
from njrt.errors import require_packages
from spsbench.published import PUBLISHED
from spsbench.suite import TASK_NAMES, read_program_source
from spsbench.task import ProgramFile

BLACK_LINE_LENGTH = 120


@dataclass(frozen=True, slots=True)
class Length:
    """Lines of code of a task's two programs."""

    name: str
    natural: int
    manual: int

    @property
    def change(self) -> float:
        """How much longer the natural program is than the manual one, in percent of the latter."""
        return compute_percent_change(self.natural, self.manual)


def compute_percent_change(new: float, old: float) -> float:
    """Return the change from `old` to `new` in percent of `old`."""
    return 100 * (new - old) / old


def count_lengths() -> tuple[Length, ...]:
    """Count the two programs of each task."""
    files: tuple[ProgramFile, ...] = ("natural.njpy", "manual.py")
    return tuple(
        Length(name, *(count_lines_of_code(read_program_source(name, file)) for file in files))
        for name in TASK_NAMES
    )


def count_lines_of_code(source: str) -> int:
    """Count the lines of code after formatting; natural blocks are code, docstrings are not."""
    require_packages("counting lines", "njpy[bench]", "black")
    import black

    text = black.format_str(source, mode=black.Mode(line_length=BLACK_LINE_LENGTH))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = {
        token.start[0]
        for token in tokens
        if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#")
    }
    skipped = comments | set(find_docstring_line_numbers(text))
    lines = enumerate(text.split("\n"), 1)
    return sum(bool(line.strip()) and number not in skipped for number, line in lines)


def find_docstring_line_numbers(text: str) -> Iterator[int]:
    """Yield all docstrings' line numbers; a natural block that starts a function is none."""
    source = SourceFile("program", text.encode())
    prompts = {block.line for block in compile_source(source).blocks}
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, owners) and node.body:
            match first := node.body[0]:
                case ast.Expr(ast.Constant(str())) if first.lineno not in prompts:
                    assert first.end_lineno is not None
                    yield from range(first.lineno, first.end_lineno + 1)


def format_length_table(counted: tuple[Length, ...]) -> str:
    """Return all lengths as a table, with our means and the paper's."""
    paper = PUBLISHED.lines_of_code
    natural = mean(length.natural for length in counted)
    manual = mean(length.manual for length in counted)
    rows = [f"{'lines of code':22} {'natural':>8} {'manual':>8} {'change':>8}"]
    rows += [
        f"{length.name:22} {length.natural:8} {length.manual:8} {length.change:+7.1f}%"
        for length in counted
    ]
    rows += [
        (
            f"{'mean':22} {natural:8.1f} {manual:8.1f}"
            f" {compute_percent_change(natural, manual):+7.1f}%"
        ),
        (
            f"{'mean in the paper':22} {paper['natural']:8.1f} {paper['manual']:8.1f}"
            f" {paper['change']:+7.1f}%"
        ),
        "",
        (
            "The paper's programs are different ones for the same descriptions; its row is quoted,"
            " not measured here."
        ),
    ]
    return "\n".join(rows)
