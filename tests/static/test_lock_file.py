"""The lock as text: what is written is read again, the same in the same bytes, and edits show."""

from __future__ import annotations

import tomllib
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from njc.static.lock import (
    BlockDigests,
    CheckCounts,
    LockEntry,
    StaticLock,
    TokenCounts,
    describe_authors,
    format_lock,
    hash_code,
    read_lock,
    transfer_changes,
)
from njc.static.write import save_lock
from njrt.errors import ConfigurationError


def entry(name: str = "a.njpy:f", code: str = "x = 1\n", **more: object) -> LockEntry:
    settled = {"digest": hash_code(code), **more}
    meaning = BlockDigests("11111111", "22222222", "33333333")
    return LockEntry(
        name, "static", meaning, "m", "2026-03-01", 1, TokenCounts(10, 5), code=code, **settled
    )  # type: ignore[arg-type]


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
    "code", ["s = '''a\n'''", 's = """a\\n"""', "s = '\\t\x0c'", "s = 'it''s'", "", "a\n\n\nb"]
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
    assert "\nedited = true\n" in format_lock(lock)
    assert format_lock(read(format_lock(lock), tmp_path)) == format_lock(lock)


def test_line_ends_of_other_systems_are_no_edit(tmp_path: Path) -> None:
    text = format_lock(StaticLock().with_entries([entry(code="a\nb\n")])).replace("\n", "\r\n")
    (found,) = read(text, tmp_path).entries.values()
    assert not found.is_edited


def test_no_file_holds_nothing(tmp_path: Path) -> None:
    assert read_lock(tmp_path / "njc.lock") == StaticLock()


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
        (
            GOOD.replace("attempts = ", "atempts = 1\nattempts = "),
            r"`block\.0\.atempts` \(a\.njpy:f\): this njc knows no such key; correct it",
        ),
        (
            GOOD.replace("context = ", "kontext = 1, context = "),
            r"`block\.0\.meaning\.kontext` \(a\.njpy:f\): this njc knows no such key",
        ),
        ("version = 1\n[[blocks]]\n", r"njc\.lock: `blocks`: this njc knows no such key"),
    ],
)
def test_a_broken_lock_says_where(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=words):
        read(text, tmp_path)


PASSED = {"checks": CheckCounts(3, 4)}


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([], ""),
        ([entry()], "code by m; the checks of its program were not run"),
        ([entry(**PASSED)], "code by m; passes 3 of 4 checks of its program"),
        (
            [entry(checks=CheckCounts(0, 4, "a script"))],
            "code by m; passes 0 of 4 checks of its program (answered by a script)",
        ),
        ([entry(**PASSED), entry()], "code by m; the checks of its program were not run"),
        (
            [entry(digest="0", **PASSED)],
            "code by m, edited; the checks of its program were not run",
        ),
        (
            [entry(**PASSED), entry(code="", live="no code")],
            "code by m; passes 3 of 4 checks of its program; 1 of 2 blocks run live",
        ),
        ([entry(code="", live="no code")], "no code by m is used: the blocks run live"),
    ],
)
def test_who_wrote_the_code_of_a_file(entries: list[LockEntry], words: str) -> None:
    assert describe_authors(entries) == words


@pytest.mark.parametrize("checks", [None, CheckCounts(3, 4), CheckCounts(0, 4, 'a "script"')])
def test_the_counts_of_checks_are_kept(checks: CheckCounts | None, tmp_path: Path) -> None:
    lock = StaticLock().with_entries([entry(checks=checks)])
    assert read(format_lock(lock), tmp_path).entries[("a.njpy:f", "static")].checks == checks


A, B, C = entry("a", "a = 1\n"), entry("b", "b = 1\n"), entry("c", "c = 1\n")
NEW_A = entry("a", "a = 2\n")
EDITED_A = replace(A, code="a = 3\n")


@pytest.mark.parametrize(
    ("before", "after", "current", "merged"),
    [
        pytest.param([A], [A, B], [A], [A, B], id="one added"),
        pytest.param([A], [A, B], [A, C], [A, B, C], id="each added another"),
        pytest.param([A, B], [B], [A, B, C], [B, C], id="one removed, another added"),
        pytest.param([A, B], [NEW_A, B], [A], [NEW_A], id="one changed, another removed"),
        pytest.param([A], [NEW_A], [EDITED_A], [EDITED_A], id="edited meanwhile"),
        pytest.param([EDITED_A], [NEW_A], [EDITED_A], [NEW_A], id="edited before"),
        pytest.param([A], [], [EDITED_A], [EDITED_A], id="removed, edited meanwhile"),
        pytest.param([], [A], [EDITED_A], [EDITED_A], id="edited after it was written"),
        pytest.param([], [A], [], [A], id="no file"),
    ],
)
def test_changes_are_transferred_to_a_lock_that_was_changed_meanwhile(
    before: list[LockEntry],
    after: list[LockEntry],
    current: list[LockEntry],
    merged: list[LockEntry],
) -> None:
    locks = [StaticLock().with_entries(entries) for entries in (before, after, current)]
    assert transfer_changes(*locks) == StaticLock().with_entries(merged)


def test_a_merge_that_keeps_both_codes_is_an_error(tmp_path: Path) -> None:
    text = format_lock(StaticLock().with_entries([entry()]))
    other = text[text.index("[[block]]") :].replace("x = 1", "x = 2")
    with pytest.raises(ConfigurationError, match=r"`a\.njpy:f \(static\)` is there twice"):
        read(f"{text}\n{other}", tmp_path)
    assert len(read(text + other.replace('"static"', '"reviewed"'), tmp_path).entries) == 2


def save_entries(file: Path, prefix: str) -> None:
    for number in range(10):
        before = read_lock(file)
        save_lock(before.with_entries([entry(f"{prefix}.njpy:f{number}")]), before, file)


def test_processes_that_save_at_once_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "njc.lock"
    with ProcessPoolExecutor(3, get_context("spawn")) as pool:
        list(pool.map(save_entries, [file] * 3, "abc"))
    assert len(read_lock(file).entries) == 30
