"""Which blocks `njc show` calls decisions: those that choose among a few values, by their types."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from njc.commands import njc

HEAD = """\
from collections.abc import Sequence
from enum import Enum
from typing import Annotated, Literal, Optional

from annotated_types import Ge, Le
from pydantic import Field

Topic = Literal["bills", "food"]


class Color(Enum):
    RED = 1
    BLUE = 2


class Item:
    def buy(self): ...


def f(mail: str, items: Sequence[Item]){returns}:
    while True:
        \"\"\"natural{options}
        {text}
        \"\"\"
        print(x)
"""
CASES = [
    ("Put into <:x: bool> whether <mail> is spam.", True),
    ('Put into <:x: Literal["a", "b"]> the kind of <mail>.', True),
    ("Put into <:x: Topic> the topic of <mail>.", True),
    ("Put into <:x: Topic | None> the topic of <mail>.", True),
    ("Put into <:x: Optional[Color]> the color in <mail>.", True),
    ("Put into <:x: Annotated[int, Field(ge=1, le=5)]> the stars in <mail>.", True),
    ("Put into <:x: Annotated[int, Ge(1), Le(5)]> the stars in <mail>.", False),
    ("Put into <:x: Annotated[int, Field(gt=1, lt=3)]> the stars in <mail>.", False),
    ("Put into <:x: Annotated[int, Field(ge=1)]> the stars in <mail>.", False),
    ("Put into <:x: Annotated[int, Field(ge=1, le=20)]> the stars in <mail>.", False),
    ("Put into <:x: int>, from 1 to 5, the stars in <mail>.", False),
    ('Put into <:x: Literal["a"]> the kind of <mail>.', False),
    ("Put into <:x: str> the kind of <mail>.", False),
    ("Put into <:x: list[bool]> the kinds of <mail>.", False),
    ("Put <:x: bool>, <:y: bool>, <:z: bool> about <mail>.", True),
    ("Put <:x: bool>, <:y: bool>, <:z: bool> about <mail>, or break.", False),
    ("Put <:x: bool>, <:y: bool>, <:z: bool>, <:w: bool> about <mail>.", False),
    ("Break if <mail> is a goodbye.", True),
    ("Put into <:x: Item> the best of <items>.", True),
    ("Put into <:x: Item | None> the best of <items>.", True),
    ("Put into <:x: list[Item]> the best of <items>.", False),
]


def show(path: Path, text: str, returns: str = "", options: str = "") -> str:
    source = HEAD.replace("{text}", text).replace("{returns}", returns)
    path.write_text(source.replace("{options}", options))
    result = CliRunner().invoke(njc, ["show", str(path)])
    assert result.exit_code == 0, result.output
    return next(it.split(maxsplit=1)[1] for it in result.output.splitlines() if "effects " in it)


@pytest.mark.parametrize(("text", "is_decision"), CASES)
def test_blocks_that_choose_are_shown(tmp_path: Path, text: str, is_decision: bool) -> None:
    options = '(effects="answer")' if "Item" in text else ""
    shown = show(tmp_path / "a.njpy", text, options=options)
    assert shown == ("answer (decision)" if is_decision else "answer")


@pytest.mark.parametrize(
    ("returns", "shown"),
    [
        (" -> Topic", "answer (decision)"),
        (" -> bool", "answer (decision)"),
        (" -> str", "answer"),
        ("", "answer"),
    ],
)
def test_the_value_to_return_counts_like_an_output(
    tmp_path: Path, returns: str, shown: str
) -> None:
    assert show(tmp_path / "a.njpy", "Return what <mail> is.", returns) == shown


def test_a_block_that_runs_code_is_none(tmp_path: Path) -> None:
    text = "Put into <:x: bool> whether <mail> is spam."
    assert show(tmp_path / "a.njpy", text, options='(effects="direct")') == "direct"
