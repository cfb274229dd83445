"""Random programs in other layouts: line ends, indentation, comments and encodings change nothing but the text.

The programs are those of test_random_programs. Each is run from its compiled file, and with the lines of its source,
as the import hook runs it: both give the same events on the same lines.
"""

from __future__ import annotations

import re
import sys
import warnings
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_programs import answer
from test_random_programs import (
    DRIVERS,
    GUARDED,
    PRELUDE,
    Block,
    Line,
    Place,
    comparable,
    run_plain,
    suites,
    written,
)

from compiling import compile_text
from njc.compiler.codegen.linemap import parse_line_map
from njc.compiler.compiler import parse_compiled_tree
from njrt.block.session.settings import using
from njrt.data.options import Options
from njrt.testing import Scripted

NOTING = """
import sys
lines = []
def note_line(*what):
    frame = sys._getframe(1)
    if frame.f_code.co_filename.startswith("program."): lines.append(frame.f_lineno)
    return log(*what)
"""
"""The program's own calls note their lines; the model's code has lines of its own."""


@dataclass(frozen=True)
class Layout:
    """How a program is written down."""

    newline: str
    indent: str
    comment: str
    """Behind lines of ordinary code."""
    gap: str
    """Between such lines."""
    head: str
    """The first line, with the encoding."""

    def apply(self, text: str) -> str:
        """Return a program in this layout; blocks keep their lines, but not their margins."""
        rows = []
        is_inside = False
        for row in text.split("\n"):
            depth = (len(row) - len(row.lstrip(" "))) // 4
            is_block = '"""' in row
            is_code = not (is_inside or is_block)
            is_inside ^= row.count('"""') == 1
            row = self.indent * depth + row[depth * 4 :]
            if is_code and row.strip():
                row += self.comment
                row = re.sub(r"\blog\(", "note_line(", row)
            rows += [row, *([self.gap] if is_code and self.gap else [])]
        return self.head + "\n".join(rows).replace("\n", self.newline)


LAYOUTS = st.builds(
    Layout,
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
    indent=st.sampled_from([" ", "   ", "\t", "        "]),
    comment=st.sampled_from(["", "  # \u00e9 '''", "  # \u2028 \"\"\"natural", "  # \f"]),
    gap=st.sampled_from(["", "\f", "# \u00df \x0b", " \t "]),
    head=st.sampled_from(["", "\ufeff", "# coding: utf-8\n", "#!/usr/bin/python\n# vim: fileencoding=utf-8\n"]),
)  # fmt: skip


def run_both(text: str) -> tuple[list[Any], list[int]]:
    """Run a program from its compiled file and as the import hook does; return its events, and their lines."""
    compilation = compile_text(text, Options(authority="code", jumps="all"))
    assert compilation.output is not None, compilation.diagnostics
    line_map = parse_line_map(compilation.output)
    assert line_map is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = execute(compile(compilation.output, "program.py", "exec"))
        hooked = execute(compile(parse_compiled_tree(compilation), "program.njpy", "exec"))
    assert comparable(compiled["events"]) == comparable(hooked["events"])
    lines = [line_map.find_source_line(line) for line in compiled["lines"]]
    assert lines == hooked["lines"]
    return compiled["events"], lines


def execute(code: Any) -> dict[str, Any]:
    module = ModuleType("scripted_program")
    sys.modules[module.__name__] = module
    try:
        with using(model=Scripted(answer), policy="guarded"):
            exec(code, module.__dict__)
    finally:
        del sys.modules[module.__name__]
    return module.__dict__


@given(suites(Place()), LAYOUTS)
@settings(max_examples=settings.default.max_examples // 8)
def test_a_layout_changes_neither_events_nor_lines(
    program: tuple[Block | Line, ...], layout: Layout
) -> None:
    plain = run_plain(PRELUDE + DRIVERS + GUARDED.format(written(program, False, "    ")))
    body = layout.apply(GUARDED.format(written(program, True, "    ")))
    head = (PRELUDE + NOTING + DRIVERS).replace("\n", layout.newline)
    text = layout.head + head + body.removeprefix(layout.head)
    events, lines = run_both(text)
    assert comparable(events) == comparable(plain)
    rows = re.split(r"\r\n|\n|\r", text)
    assert all("note_line(" in rows[line - 1] for line in lines)
