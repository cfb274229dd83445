"""Who writes a block's code is shown up to three cases of its function; they are no part of its meaning."""

from __future__ import annotations

import json

import pytest
from studio import Studio

from case_programs import read_program

PROGRAM = read_program("cases_shown")
CASES = [{"inputs": {"mail": f"mail {number}"}, "expect": "sales"} for number in range(5)]
LONG = {"inputs": {"mail": "long " * 300}, "expect": "sales"}
LINES = "\n".join(map(json.dumps, [LONG, *CASES])) + "\n"
CODE = '```python\nteam = "sales"\n```'
BUILD = ("build", "shop.njpy", "--mode", "static")


def list_shown(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.startswith('{"inputs"')]


@pytest.fixture
def shop(studio: Studio) -> Studio:
    studio.write({"shop.njpy": PROGRAM, "shop.route.cases.jsonl": LINES})
    return studio


def test_a_model_is_shown_the_cases_of_its_function(shop: Studio) -> None:
    shop.njc(*BUILD, replies=[CODE, CODE])
    method, function = (str(request.messages[-1].text) for request in shop.asked)
    assert list_shown(method) == []
    assert list_shown(function) == [json.dumps(case) for case in CASES[:3]]


def test_a_folder_is_shown_them_and_a_new_case_makes_no_code_stale(shop: Studio) -> None:
    folder = (*BUILD, "--writer", "folder:ask", "--writer-name", "Ada")
    shop.njc(*folder, code=3)
    (question,) = shop.folder.glob("ask/shop.route-1.*.md")
    assert list_shown(question.read_text()) == [json.dumps(case) for case in CASES[:3]]
    shop.write({"shop.route.cases.jsonl": LINES.replace("mail 0", "a mail")})
    for file in shop.folder.glob("ask/*.md"):
        file.with_suffix(".py").write_text('team = "sales"\n')
    shop.njc(*folder)
    (shop.folder / "shop.route.cases.jsonl").unlink()
    shop.njc(*BUILD, "--locked")


def test_eval_reads_them_without_being_told(shop: Studio) -> None:
    replies = [{"team": "sales"}] * 6
    assert "6 of 6" in shop.njc("eval", "shop.njpy:route", replies=replies).stdout
    (shop.folder / "shop.route.cases.jsonl").unlink()
    assert "shop.route.cases.jsonl" in shop.njc("eval", "shop.njpy:route", code=2).output
