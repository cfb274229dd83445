"""The lock as text: what is written is read again, the same in the same bytes, and edits show."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from njc.static.lock import Entry, Lock, Meaning, digest_of, lock_text, read_lock, with_entries
from njrt.errors import ConfigurationError


def entry(name: str = "a.njpy:f", code: str = "x = 1\n", **more: object) -> Entry:
    settled = {"digest": digest_of(code), **more}
    meaning = Meaning("11111111", "22222222", "33333333")
    return Entry(name, "static", meaning, "m", "2026-03-01", 1, 10, 5, None, code=code, **settled)  # type: ignore[arg-type]


def read(text: str, folder: Path) -> Lock:
    file = folder / "njc.lock"
    file.write_text(text, encoding="utf-8", newline="")
    return read_lock(file)


TEXT = st.text(st.characters(codec="utf-8"), max_size=40)


@given(st.lists(st.tuples(TEXT, TEXT), max_size=4))
def test_what_is_written_is_read_again(pairs: list[tuple[str, str]]) -> None:
    codes = {name: code.replace("\r", "") for name, code in pairs}
    lock = with_entries(Lock(), [entry(name, code) for name, code in codes.items()])
    blocks = tomllib.loads(lock_text(lock)).get("block", [])
    assert {each["name"]: each["code"].strip() for each in blocks} == {
        name: code.strip() for name, code in codes.items()
    }


@pytest.mark.parametrize(
    "code", ["s = '''a\n'''", 's = """a\\n"""', "s = '\\t\x0c'", "s = 'it''s'", "", "a\n\n\nb"]
)
def test_awkward_code(code: str, tmp_path: Path) -> None:
    lock = with_entries(Lock(), [entry(code=code)])
    again = read(lock_text(lock), tmp_path)
    (found,) = again.entries.values()
    assert found.code.strip() == code.strip()
    assert not found.is_edited
    assert lock_text(again) == lock_text(lock)


def test_entries_stand_in_the_order_of_their_names() -> None:
    one, two = entry("b.njpy:f"), entry("a.njpy:g")
    assert lock_text(with_entries(Lock(), [one, two])) == lock_text(
        with_entries(Lock(), [two, one])
    )


def test_an_edit_shows(tmp_path: Path) -> None:
    text = lock_text(with_entries(Lock(), [entry()])).replace("x = 1", "x = 2")
    lock = read(text, tmp_path)
    (found,) = lock.entries.values()
    assert found.is_edited
    assert "\nedited = true\n" in lock_text(lock)
    assert lock_text(read(lock_text(lock), tmp_path)) == lock_text(lock)


def test_line_ends_of_other_systems_are_no_edit(tmp_path: Path) -> None:
    text = lock_text(with_entries(Lock(), [entry(code="a\nb\n")])).replace("\n", "\r\n")
    (found,) = read(text, tmp_path).entries.values()
    assert not found.is_edited


def test_no_file_holds_nothing(tmp_path: Path) -> None:
    assert read_lock(tmp_path / "njc.lock") == Lock()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("version = 2\n", "is of version 2, and this njc reads version 1"),
        ("<<<<<<< HEAD\n", "cannot be read"),
        ('version = 1\n[[block]]\nname = "x"\n', "an entry is not complete: 'mode'"),
    ],
)
def test_a_broken_lock_says_so(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=words):
        read(text, tmp_path)
