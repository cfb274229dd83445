"""Whatever the text: the compiler reports or compiles, and what it compiles Python accepts."""

from __future__ import annotations

import warnings

from hypothesis import given
from hypothesis import strategies as st

from njc.compiler.compiler import compile_source, parse_compiled_tree
from njc.compiler.frontend.diagnostics import render_diagnostic
from njc.compiler.frontend.source import SourceFile

FRAGMENTS = [
    '"""natural\n',
    '"""natural(max_effects=3)\n',
    '"""natural\n<x> <:y>\n"""',
    '\n"""natural\n<x> <:y: int>\n"""\n',
    "'''prompt\r\n",
    *(
        '"""',
        "'''",
        "<x>",
        "<:y>",
        "<super>",
        "# c",
        "# njc: a=1",
        "é",
        "f",
        "r",
        "(",
        ")",
        "{",
        "}",
    ),
    *("\n", "\r", "\n    ", "\n        ", " ", "    ", "\t", "\f", "; ", ";", "\\\n"),
    *("if x:", "else:", "for x in y:", "try:", "finally:", "except* E:", "match x:", "case 1:"),
    *("def f():", "async def g():", "class C:", "@d", "global x", "yield", "return", "break"),
    *("from __future__ import annotations", "import os", '"doc"', "x = 1", "x"),
]


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join))
def test_any_text(text: str) -> None:
    source = SourceFile("p.njpy", f"# njc: ignore\n{text}".encode())
    compilation = compile_source(source)
    for diagnostic in compilation.diagnostics:
        assert diagnostic.code in render_diagnostic(diagnostic, source)
    if compilation.output is None:
        assert any(diagnostic.severity == "error" for diagnostic in compilation.diagnostics)
    elif compilation.blocks:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(compilation.output, "p.py", "exec")
            compile(parse_compiled_tree(compilation), "p.njpy", "exec")
