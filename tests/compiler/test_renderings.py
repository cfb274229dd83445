"""Findings for programs: JSON, GitHub annotations; and where comments silence them."""

from __future__ import annotations

import json

import pytest

from compiling import compile_text, find_codes
from njc.compiler.compiler import compile_source
from njc.compiler.frontend.diagnostics import Diagnostic, render_diagnostic
from njc.compiler.frontend.source import SourceFile
from njc.project.report import format_github, format_json

FOUND = [
    Diagnostic("a,b.njpy", 2, 5, 2, 9, "NJ201", "error", "100% `x`\nwrong", "did you mean: `y`?"),
    Diagnostic("c.njpy", 3, 1, 4, 2, "NJ204", "warning", "unused"),
]


def test_json() -> None:
    first, second = json.loads(format_json(FOUND))
    assert first == {
        "code": "NJ201",
        "severity": "error",
        "message": "100% `x`\nwrong",
        "hint": "did you mean: `y`?",
        "path": "a,b.njpy",
        "line": 2,
        "column": 5,
        "end_line": 2,
        "end_column": 9,
    }
    assert second["hint"] is None
    assert format_json([]) == "[]"


def test_github() -> None:
    assert format_github(FOUND).split("\n") == [
        "::error file=a%2Cb.njpy,line=2,endLine=2,col=5,endColumn=9,title=NJ201"
        "::100%25 `x`%0Awrong%0Adid you mean: `y`?",
        "::warning file=c.njpy,line=3,endLine=4,title=NJ204::unused",
    ]


BLOCK = '"""natural\nSay <nothing>.\n"""'


@pytest.mark.parametrize(
    ("program", "silenced"),
    [
        (f"{BLOCK}\n", False),
        (f"# njc: ignore[NJ201]\n{BLOCK}\n", True),
        (f"# njc: ignore\n{BLOCK}\n", True),
        (f"# njc: ignore[NJ204]\n{BLOCK}\n", False),
        (f"{BLOCK}  # njc: ignore[NJ204, NJ201]\n", True),
        (f"{BLOCK}  # noqa  # njc: ignore[nj201]\n", True),
        (f"x = 1\n# njc: ignore[NJ201]\n{BLOCK}\n", True),
        (f"x = 1\n# njc: ignore[NJ201]\n\n{BLOCK}\n", False),
        (f"x = 1  # njc: ignore[NJ201]\n{BLOCK}\n", False),
        ('"""natural\n# njc: ignore[NJ201]\nSay <nothing>.\n"""\n', False),
    ],
)
def test_ignore(program: str, silenced: bool) -> None:
    compilation = compile_text(program)
    assert (compilation.diagnostics == ()) is silenced
    assert (compilation.output is not None) is silenced


def test_what_cannot_be_compiled_cannot_be_ignored() -> None:
    program = '# njc: ignore\nif 1: x = 1; """natural\nPrint.\n"""\n'
    assert find_codes(program) == ["NJ101"]


@pytest.mark.parametrize("count", [3, 40, 2000])
def test_a_long_line_is_cut_around_its_finding(count: int) -> None:
    """The output grows with the number of findings, not with the product of findings and length."""
    names = " ".join(f"<名{number}>" for number in range(count))
    source = SourceFile("p.njpy", f'"""natural\n\tSee {names}\x1b.\n"""\n'.encode())
    found = [each for each in compile_source(source).diagnostics if each.code == "NJ201"]
    assert len(found) == count
    for number, finding in enumerate(found):
        _, shown, marks, _ = render_diagnostic(finding, source).split("\n")
        assert len(shown) < 220
        assert "\x1b" not in shown
        blanks = marks.partition(" | ")[2].rstrip("^").replace("\t", "")
        before = shown.partition(" | ")[2].partition(f"<名{number}>")[0].replace("\t", "")
        assert len(blanks) == len(before) + before.count("名"), "a wide letter has two cells"
        assert marks.count("^") == len(f"<名{number}>") + 1
