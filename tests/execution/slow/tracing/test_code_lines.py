"""The lines that debuggers and tracers are told of while a model's code runs."""

# The variables that only snippets bind look undefined to ruff.
# ruff: noqa: F821

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from playing import aplay, play

from njc.compiler.compiler import compile_source, parse_compiled_tree
from njc.compiler.frontend.source import SourceFile
from njrt.execution.source_cache import is_snippet
from processes import run_python

CASES = Path(__file__).parents[3] / "cases" / "lower"
CODE = "y = x\n\ny += 1\nif y:\n    y = [\n        y,\n        2]\n"


def in_function() -> None:
    x = 1
    y: object
    play(lambda: (x, y), CODE, writes="y")


def in_method() -> None:
    class Box:
        def fill(self, x: int) -> None:
            y: object
            play(lambda: (x, y), CODE, writes="y", cls="Box")

    Box().fill(1)


def in_coroutine() -> None:
    async def f(x: int) -> None:
        y: object
        await aplay(lambda: (x, y), CODE, writes="y")

    asyncio.run(f(1))


def in_class() -> None:
    class Box:
        x = 1
        y: object
        play(lambda: (), CODE, writes="y", cls="Box", ns=locals(), own="x y")


def trace_lines(host: Callable[[], None]) -> tuple[list[int], list[CodeType]]:
    lines: list[int] = []
    codes: list[CodeType] = []

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if not is_snippet(frame.f_code.co_filename):
            return None
        if event == "call":
            codes.append(frame.f_code)
        if event == "line":
            lines.append(frame.f_lineno)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        host()
    finally:
        sys.settrace(before)
    return lines, codes


def find_lines_above(code: CodeType) -> list[str]:
    """Find functions with a line above their first one: Python 3.14 numbers those lines wrongly in traces."""
    found = [
        f"{code.co_qualname}: {line} < {code.co_firstlineno}"
        for _, _, line in code.co_lines()
        if line is not None and 0 < line < code.co_firstlineno
    ]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found += find_lines_above(constant)
    return found


@pytest.mark.parametrize("host", [in_function, in_method, in_coroutine, in_class])
def test_lines_are_those_of_the_snippet(host: Callable[[], None]) -> None:
    lines, codes = trace_lines(host)
    seen = sorted({line for line in lines if line > 1})
    assert seen == [3, 4, 5, 6, 7]
    assert [find_lines_above(code) for code in codes] == [[]]


@pytest.mark.parametrize("path", sorted(CASES.glob("*.njpy")), ids=lambda path: path.stem)
def test_lines_of_compiled_programs_are_below_their_function(path: Path) -> None:
    compilation = compile_source(SourceFile(path.name, path.read_bytes()))
    code = compile(parse_compiled_tree(compilation), path.name, "exec")
    assert find_lines_above(code) == []


PROGRAM = """
import os

import njrt
from njrt.testing import run


def check(x):
    try:
        njrt.run(
            '''natural
    Raise ValueError with <x>.
    ''',
            lambda: (x,),
            at="prog.njpy:7",
        )
    except ValueError as error:
        os.kept = error  # longer than the modules of the runtime


with njrt.using(model=njrt.Scripted([run("raise ValueError(x)", done=True)])):
    check(3)
raise LookupError("at the end")
"""


def test_an_uncaught_exception_after_a_block_shows_its_line_and_nothing_else(
    tmp_path: Path,
) -> None:
    program = tmp_path / "prog.py"
    program.write_text(PROGRAM)
    done = run_python(program, env={**os.environ, "NJC_POLICY": "guarded"}, timeout=60)
    assert done.stderr.splitlines() == [
        "Traceback (most recent call last):",
        f'  File "{program}", line 23, in <module>',
        '    raise LookupError("at the end")',
        "LookupError: at the end",
    ]
