"""The lock as text: what is written is read again, the same in the same bytes, and edits show."""

from __future__ import annotations

import tomllib
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from njc.static.lock import (
    BlockDigests,
    LockEntry,
    StaticLock,
    TokenCounts,
    describe_authors,
    format_lock,
    hash_code,
    read_lock,
)
from njc.static.write import change_lock
from njrt.errors import ConfigurationError


def entry(name: str = "a.njpy:f", code: str = "x = 1\n", **more: object) -> LockEntry:
    fields = {"model": "m", "date": "2026-03-01", "digest": hash_code(code), **more}
    meaning, tokens = BlockDigests("11111111", "22222222", "33333333"), TokenCounts(10, 5)
    return LockEntry(name, "static", meaning, attempts=1, tokens=tokens, code=code, **fields)  # type: ignore[arg-type]


def read(text: str, folder: Path) -> StaticLock:
    file = folder / "njc.lock"
    file.write_text(text, encoding="utf-8", newline="")
    return read_lock(file)


TEXT = st.text(st.characters(codec="utf-8"), max_size=40)


@given(st.lists(st.tuples(TEXT, TEXT), max_size=4))
def test_what_is_written_is_read_again(pairs: list[tuple[str, str]]) -> None:
    codes = {name: code.replace("\r", "") for name, code in pairs}
    lock = StaticLock().with_entries([entry(name, code) for name, code in codes.items()])
    blocks = tomllib.loads(format_lock(lock)).get("block", [])
    assert {block["name"]: block["code"].strip() for block in blocks} == {
        name: code.strip() for name, code in codes.items()
    }


@pytest.mark.parametrize(
    "code", ["s = '''a\n'''", 's = """a\\n"""', "s = '\\t\x0c'", "s = 'it''s'", "a\n\n\nb"]
)
def test_awkward_code(code: str, tmp_path: Path) -> None:
    lock = StaticLock().with_entries([entry(code=code)])
    again = read(format_lock(lock), tmp_path)
    (found,) = again.entries.values()
    assert found.code.strip() == code.strip()
    assert not found.is_edited
    assert format_lock(again) == format_lock(lock)


def test_entries_stand_in_the_order_of_their_names() -> None:
    one, two = entry("b.njpy:f"), entry("a.njpy:g")
    assert format_lock(StaticLock().with_entries([one, two])) == format_lock(
        StaticLock().with_entries([two, one])
    )


def test_an_edit_shows(tmp_path: Path) -> None:
    text = format_lock(StaticLock().with_entries([entry()])).replace("x = 1", "x = 2")
    lock = read(text, tmp_path)
    (found,) = lock.entries.values()
    assert found.is_edited
    assert read(format_lock(lock), tmp_path) == lock


GOOD = format_lock(StaticLock().with_entries([entry("a.njpy:f", "s = '''\n[[block]]\n'''\n")]))
BAD = format_lock(StaticLock().with_entries([entry("b.njpy:g")])).partition("\n\n")[2]
"""An entry without the head of the file."""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("version = 2\n", r"njc\.lock: `version`: Input should be 1; correct it, install the njc"),
        ("x = 1\n", r"njc\.lock: `version`: Field required"),
        ("<<<<<<< HEAD\n", r"cannot be read: .*line 1.*; correct it"),
        ("version = 1\nblock = 3\n", r"njc\.lock: `block`: Input should be a valid tuple"),
        ("version = 1\nblock = [3]\n", r"njc\.lock: `block\.0`: Input should be a dictionary"),
        ("version = 1\ntuned = 3\n", r"njc\.lock: `tuned`: Input should be a valid tuple"),
        (
            'version = 1\n[[block]]\nname = "x"\n',
            r"njc\.lock: `block\.0\.mode` \(x\): Field required",
        ),
        (
            GOOD + BAD.replace("attempts = 1", 'attempts = "one"'),
            r"njc\.lock: `block\.1\.attempts` \(b\.njpy:g\): Input should be a valid integer",
        ),
        (
            GOOD + BAD.replace("output = 5", "outputs = 5"),
            r"`block\.1\.tokens\.output` \(b\.njpy:g\): Field required",
        ),
    ],
)
def test_a_broken_lock_says_where(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=words):
        read(text, tmp_path)


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([], ""),
        ([entry(), entry(model="k")], "code by k, m"),
        ([entry(digest="0")], "code by m, edited"),
    ],
)
def test_who_wrote_the_code_of_a_file(entries: list[LockEntry], words: str) -> None:
    assert describe_authors(entries) == words


def test_a_merge_that_keeps_both_codes_is_an_error(tmp_path: Path) -> None:
    text = format_lock(StaticLock().with_entries([entry()]))
    other = text[text.index("[[block]]") :].replace("x = 1", "x = 2")
    with pytest.raises(ConfigurationError, match=r"`a\.njpy:f \(static\)` is there twice"):
        read(f"{text}\n{other}", tmp_path)
    assert len(read(text + other.replace('"static"', '"reviewed"'), tmp_path).entries) == 2


def save_entries(file: Path, prefix: str) -> None:
    for number in range(10):
        added = entry(f"{prefix}.njpy:f{number}")
        change_lock(file, lambda lock, added=added: lock.with_entries([added]))  # type: ignore[misc]


def test_processes_that_save_at_once_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "njc.lock"
    with ProcessPoolExecutor(3, get_context("spawn")) as pool:
        list(pool.map(save_entries, [file] * 3, "abc"))
    assert len(read_lock(file).entries) == 30
