"""A folder as the writer: questions and answers are files, and an answer is taken once, for the text of today."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from studio import Studio, load

from njc.compiler.frontend.source import SourceFile
from njc.project.units import Unit
from njc.static.build import choose_author
from njc.static.fit import make_static_file
from njrt.data.options import Options

SHOP = '''\
def double(x: int) -> int:
    """natural(mode="static")
    Double <x> into <:y>.
    """
    """natural(mode="static")
    Add one to <y> into <:z>.
    """
    return z
'''
PLAIN = "n = 1\n"
ASK = ("build", ".", "--writer", "folder:ask", "--writer-name", "Ada\nLovelace")


@pytest.fixture
def asked(studio: Studio) -> Studio:
    """A program whose blocks wait for their writer, beside a file without blocks."""
    studio.write({"shop.njpy": SHOP, "plain.njpy": PLAIN})
    studio.njc(*ASK, code=3)
    return studio


def list_files(studio: Studio) -> list[str]:
    return sorted(file.name for file in (studio.folder / "ask").iterdir())


def find_question(studio: Studio, number: int) -> Path:
    (found,) = (studio.folder / "ask").glob(f"shop.double-{number}.*.md")
    return found


def answer(studio: Studio, number: int, code: str) -> Path:
    file = find_question(studio, number).with_suffix(".py")
    file.write_text(code)
    return file


def test_questions_are_asked_and_other_files_are_built(asked: Studio) -> None:
    assert [re.sub(r"\.\w{8}\.", ".", name) for name in list_files(asked)] == [
        "shop.double-1.md",
        "shop.double-2.md",
    ]
    assert (asked.folder / "plain.py").exists()
    assert not (asked.folder / "shop.py").exists()
    text = find_question(asked, 2).read_text()
    for part in ("Add one to <y> into <:z>.", "YOUR CODE STANDS HERE", "z, to be bound", "llm("):
        assert part in text
    assert asked.njc(*ASK, code=3).stderr.count("note: open: ask/shop.double-") == 2


def test_answers_enter_the_lock_and_leave_the_folder(asked: Studio) -> None:
    answer(asked, 1, "y = x * 2\n")
    asked.njc(*ASK, code=3)
    assert [name[:13] for name in list_files(asked)] == ["shop.double-2"]
    answer(asked, 2, "z = y + 1")
    asked.njc(*ASK)
    assert list_files(asked) == []
    lock = asked.read("njc.lock")
    assert lock.count('model = "Ada Lovelace"') == 2
    assert "# code by Ada Lovelace\n" in asked.read("shop.py")
    assert load(asked.read("shop.py"))["double"](4) == 9


def test_a_refused_answer_is_explained_and_not_tried_twice(asked: Studio) -> None:
    bad = answer(asked, 1, "y = undefined\n")
    checked = asked.njc("build", ".", "--check-code", str(bad), code=1)
    assert bad.exists()
    assert "`undefined`" in checked.stdout
    asked.njc(*ASK, code=3)
    assert not bad.exists()
    assert bad.with_suffix(".refused.py").read_text() == "y = undefined\n"
    assert "## Why the last answer was refused" in find_question(asked, 1).read_text()
    answer(asked, 1, "y = undefined\n")
    assert "this is the answer that was refused before" in asked.njc(*ASK, code=3).stderr
    good = answer(asked, 1, "y = x + x\n")
    assert (
        asked.njc("build", ".", "--check-code", str(good)).stdout == "shop.njpy:double: accepted\n"
    )
    answer(asked, 2, "z = y + 1\n")
    asked.njc(*ASK)
    assert list_files(asked) == []


def test_an_answer_to_an_older_text_is_not_taken(asked: Studio) -> None:
    old = answer(asked, 1, "y = x * 2\n")
    asked.write({"shop.njpy": SHOP.replace("Double", "Triple")})
    asked.njc(*ASK, code=3)
    assert old.exists()
    assert not (asked.folder / "njc.lock").exists()
    result = asked.njc("build", ".", "--check-code", str(old), code=2)
    assert "answers no block of these sources" in result.stderr


def test_a_name_is_required_and_a_locked_build_does_not_look(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP})
    assert "--writer-name" in studio.njc("build", ".", "--writer", "folder:ask", code=2).stderr
    assert "NJ402" in studio.njc("build", ".", "--writer", "folder:ask", "--locked", code=1).stderr
    assert not (studio.folder / "ask").exists()


DEEP = [b"y = 1" + b"+1" * 3000, b"y = " + b"-" * 50_000 + b"1", b"y = x" + b".a" * 3000]


@pytest.mark.parametrize("data", [b"\xff", b"y = (", b"y = 1\r\x0bz = 2", *DEEP])
def test_unreadable_answers_lose_nothing(asked: Studio, data: bytes) -> None:
    file = answer(asked, 1, "")
    file.write_bytes(data)
    (asked.folder / "plain.py").unlink()
    assert "not built, with open questions: shop.njpy" in asked.njc(*ASK, code=3).stderr
    assert (asked.folder / "plain.py").exists()
    kept = file if file.exists() else file.with_suffix(".refused.py")
    assert kept.read_bytes().split()
    assert find_question(asked, 1).exists()


def test_another_model_writes_than_the_program_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    source = SourceFile(
        "shop.njpy", SHOP.replace('"static"', '"static", model="openai/small"').encode()
    )
    unit = Unit(Path("shop.njpy"), Path(), Path("shop.py"))
    for writer, asked in ((None, "openai/small"), ("openai/large", "openai/large")):
        file = make_static_file(unit, source, Options(writer=writer))
        assert file is not None
        assert choose_author(file, file.holes[0]).model.name == asked
        assert 'model="openai/small"' in str(file.place_code(file.holes[0], "y = llm(x)\n").code)
