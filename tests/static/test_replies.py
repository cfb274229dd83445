"""What is made of a model's reply: the code in it, without the program around it."""

from __future__ import annotations

from pathlib import Path

import pytest

from case_programs import read_program
from njc.frontend.source import SourceFile
from njc.project.units import Unit
from njc.static.fit import make_static_file
from njc.static.generate import extract_code, unwrap_code
from njc.static.holes import Hole
from njrt.options import Options

PROGRAM = read_program("replies")
METHOD = """\
    def triage(self, limit):
        done = []
        for mail in self.mails:
            if mail:
                # by its length
                kind = len(mail)
                if kind > 3:
                    continue
                done.append(kind)
        return done
"""
INNER = "# by its length\nkind = len(mail)\nif kind > 3:\n    continue\n"


@pytest.fixture
def hole() -> Hole:
    unit = Unit(Path("program.njpy"), Path(), Path("program.py"))
    source = SourceFile("program.njpy", PROGRAM.encode())
    file = make_static_file(unit, source, Options(mode="static"))
    assert file is not None
    return file.holes[0]


@pytest.mark.parametrize(
    "code",
    [
        f"class Box:\n{METHOD}",
        f"class Box:\n    def __init__(self, mails):\n        self.mails = mails\n\n{METHOD}",
        f"class Box:\n    size = 3\n\n{METHOD}\n\nBox([]).triage(1)\n",
    ],
)
def test_a_copy_of_the_program_is_taken_away(code: str, hole: Hole) -> None:
    assert unwrap_code(code, hole) == INNER


def test_texts_keep_their_margin(hole: Hole) -> None:
    method = METHOD.replace("len(mail)", '"""\n                Re:\n  \n\tFwd:"""')
    inner = INNER.replace("len(mail)", '"""\n                Re:\n  \n\tFwd:"""')
    assert unwrap_code(f"class Box:\n{method}", hole) == inner


def test_its_imports_are_kept(hole: Hole) -> None:
    assert unwrap_code(f"import re\nclass Box:\n{METHOD}", hole) == f"import re\n{INNER}"


@pytest.mark.parametrize(
    "code",
    [
        INNER,
        "class Box:\n" + METHOD.replace("done = []", "done = list()"),
        "class Box:\n" + METHOD.replace("if mail:", "while mail:"),
        "class Box:\n    pass\n",
        "class Box:\n    def triage(self, limit):\n        pass\n",
        "def (",
    ],
)
def test_anything_else_is_left_alone(code: str, hole: Hole) -> None:
    assert unwrap_code(code, hole) == code


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
