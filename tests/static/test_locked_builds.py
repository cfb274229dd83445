"""What a build takes from njc.lock: text that cannot become code, entries that may be live, and a build without a model."""

from __future__ import annotations

import ast
import json

import pytest
from studio import Studio
from workplace import Workplace

SHOP = '''\
def double(x: int) -> int:
    """natural
    Double <x> into <:y>.
    """
    return y
'''
FALLBACK = SHOP.replace("natural\n", 'natural(fallback="live")\n')
GOOD = "```python\ny = x * 2\n```"
STATIC = ("build", "shop.njpy", "--mode", "static")


@pytest.fixture
def locked(studio: Studio) -> Studio:
    """A program with code in its lock, without its compiled file."""
    studio.write({"shop.njpy": SHOP})
    studio.njc(*STATIC, replies=[GOOD])
    (studio.folder / "shop.py").unlink()
    return studio


INJECTED = ["a\nINJECTED = 1", "a\rINJECTED = 1", "a\r\nINJECTED = 1\n#", "a\x0cINJECTED = 1"]
INJECTED += ["a\0INJECTED = 1", "a\x85INJECTED = 1", "a\u2028INJECTED = 1", "a\x1b[2Jb", "a\u202eb"]


@pytest.mark.parametrize("text", INJECTED)
@pytest.mark.parametrize("key", ["model", "date", "rationale", "name"])
def test_no_text_of_the_lock_becomes_code(locked: Studio, key: str, text: str) -> None:
    value = json.dumps(text)
    others = [it for it in locked.read("njc.lock").split("\n") if not it.startswith(f"{key} = ")]
    others.insert(others.index("[[block]]") + 1, f"{key} = {value}")
    locked.write({"njc.lock": "\n".join(others)})
    locked.njc(*STATIC, "--locked")
    compiled = locked.read("shop.py")
    assert [type(node) for node in ast.parse(compiled).body] == [ast.Import, ast.FunctionDef]
    assert compiled.split("\n")[6].startswith("def double")
    assert all(line.isprintable() for line in compiled.split("\n"))


@pytest.mark.parametrize("character", ["\\r", "\\f", "\\u000b", "\\u0000", "\\u001b"])
def test_code_with_a_control_character_is_refused(locked: Studio, character: str) -> None:
    """Python ends a line at a carriage return, and restarts the indentation at a form feed."""
    locked.edit("njc.lock", "'''\ny = x * 2\n'''", f'"""\ny = x * 2 #{character}z = 1\n"""')
    assert "write it as an escape" in locked.njc(*STATIC, "--locked", code=1).stderr
    assert not (locked.folder / "shop.py").exists()


def test_locked_code_imports_no_name_of_the_program(locked: Studio) -> None:
    """njc 0.2 moved imports to the head of the file."""
    locked.edit("njc.lock", "y = x * 2", "from math import pi as double\ny = x * 2")
    result = locked.njc(*STATIC, "--locked", code=1)
    assert "error[NJ404]: the edited code of `shop.njpy:double` is refused" in result.stderr
    assert "choose other names than `double`" in result.stderr


def test_a_live_entry_of_0_2_is_no_code(locked: Studio) -> None:
    locked.edit("njc.lock", "code = ", 'live = "it is slow"\ncode = ')
    locked.edit("njc.lock", "y = x * 2", "")
    result = locked.njc(*STATIC, "--locked", code=1)
    assert "error[NJ402]: the code of `shop.njpy:double` in njc.lock is missing" in result.stderr
    assert not (locked.folder / "shop.py").exists()


def test_each_build_asks_again_where_no_code_passed(studio: Studio) -> None:
    studio.write({"shop.njpy": FALLBACK})
    for _ in range(2):
        built = studio.njc(*STATIC, "--attempts", "1", replies=["no"])
        assert "note: shop.njpy:double stays live: no code passed the checks" in built.stderr
    assert len(studio.asked) == 2


def test_a_locked_build_honours_the_fallback(studio: Studio) -> None:
    studio.write({"shop.njpy": FALLBACK})
    result = studio.njc(*STATIC, "--locked")
    assert "note: shop.njpy:double stays live: its code is missing" in result.stderr
    assert "_nj.run(" in studio.read("shop.py")
    studio.njc(*STATIC, replies=[GOOD])
    studio.edit("shop.njpy", "Double", "Triple")
    result = studio.njc(*STATIC, "--locked")
    assert "stays live: its code is stale: its instruction changed" in result.stderr
    assert "_nj.run(" in studio.read("shop.py")


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        ("", "no model is configured"),
        ("nobody", "no vendor is known for model `nobody`"),
        ("openai/gpt-4.1", "no key to ask openai/gpt-4.1 with; set OPENAI_API_KEY"),
        ("python:nowhere:x", "No module named 'nowhere'"),
    ],
)
def test_a_static_block_without_a_model(
    studio: Studio, monkeypatch: pytest.MonkeyPatch, model: str, problem: str
) -> None:
    if model:
        monkeypatch.setenv("NJC_MODEL", model)
    studio.write({"shop.njpy": SHOP})
    result = Workplace(studio.folder).njc(*STATIC, code=2)
    place = "shop.njpy:2: the code of the static block `shop.njpy:double` cannot be written"
    for words in (place, problem, "--locked", 'mode="live"'):
        assert words in result.stderr
