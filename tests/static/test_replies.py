"""What is made of a model's reply: the code in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from case_programs import read_program
from njc.compiler.frontend.source import SourceFile
from njc.project.units import Unit
from njc.static.fit import make_static_file
from njc.static.generate import extract_code
from njc.static.holes import Hole
from njrt.data.options import Options

PROGRAM = read_program("replies")


@pytest.fixture
def hole() -> Hole:
    unit = Unit(Path("program.njpy"), Path(), Path("program.py"))
    source = SourceFile("program.njpy", PROGRAM.encode())
    file = make_static_file(unit, source, Options(mode="static"))
    assert file is not None
    return file.holes[0]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("```python\nx = 1\n```", "x = 1\n"),
        ("Sure:\n\n```py\n    x = 1\n    y = 2\n```\nThat is it.", "x = 1\ny = 2\n"),
        ("```\nx = 1\n```", "x = 1\n"),
        ("x = 1", "x = 1\n"),
        ("```python\nx = 1\n```\n```python\nprint(x)\n```", "x = 1\n"),
        ("```python\r\nx = 1\r\n```", "x = 1\n"),
        ("I cannot.", None),
        ("```python\n\n```", None),
        ("", None),
    ],
)
def test_code_in_a_reply(text: str, code: str | None, hole: Hole) -> None:
    assert extract_code(text, hole) == code
