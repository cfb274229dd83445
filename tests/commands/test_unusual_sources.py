"""Sources that are deep, old or beside a file of their name."""

from __future__ import annotations

import pytest
from workplace import Workplace

from njc.compiler.frontend.source import SourceFile

BLOCK = (
    'def f(x: str) -> str:\n    """natural\n    Put <x> into <:y: str>.\n    """\n    return y\n'
)


def test_an_expression_of_many_terms_is_compiled(here: Workplace) -> None:
    here.write({"a.njpy": f"{BLOCK}total = {' + '.join(['1'] * 1200)}\nassert total == 1200\n"})
    here.njc("check", "a.njpy")
    here.njc("run", "a.njpy")


@pytest.mark.parametrize("newline", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("head", ["", "#!x\n", "\n"])
def test_a_coding_comment_counts_with_all_line_ends(head: str, newline: str) -> None:
    text = f"{head}# coding: latin-1\nx = 'é'\n".replace("\n", newline)
    assert SourceFile("a.njpy", text.encode("latin-1")).text == text


@pytest.mark.parametrize("command", ["build pk -o out", "check pk", "check pk/a.njpy"])
def test_a_python_file_beside_a_source_is_refused(here: Workplace, command: str) -> None:
    here.write({"pk/a.njpy": BLOCK, "pk/a.py": "x = 1\n", "pk/__init__.py": ""})
    assert "pk/a.njpy and pk/a.py beside it" in here.njc(*command.split(), code=2).stderr
