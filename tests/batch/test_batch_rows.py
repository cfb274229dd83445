"""`njc batch` without a model: rows of CSV and JSON Lines, results and errors, files, what has changed between runs."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from batch_workplace import BatchWorkplace

PLAIN = """\
import asyncio
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal

import njrt


@dataclass
class Order:
    item: str
    count: int = 1


def describe(
    day: date, order: Order, color: Literal["red", "blue"] = "red", tags: set[str] = frozenset()
) -> dict[str, object]:
    return {"day": day, "order": order, "color": color, "tags": sorted(tags)}


def echo(value, note=""):
    match value:
        case "exit":
            sys.exit(3)
        case "object":
            return object()
        case "long":
            return 10 ** 5000
        case "infinite":
            return [float("inf"), float("nan")]
        case "surrogate":
            return chr(0xD800)
        case "stop":
            raise StopIteration("over")
        case "interrupt":
            raise KeyboardInterrupt("now")
        case "cancel":
            raise asyncio.CancelledError
        case "base":
            raise BaseException("odd")
        case "move":
            os.mkdir("inner")
            os.chdir("inner")
    return value


def bill(mail: str, amount: float, urgent: bool, copies: int = 1):
    return [mail, amount, urgent, copies]


def keywords(a: int, b: int = 2, **others: int):
    return [a, b, others]


async def double(number: int):
    async def end():
        sys.exit(number)

    if number == 3:
        asyncio.ensure_future(end())  # ends the event loop
        await asyncio.sleep(0)
    if number == 5:
        asyncio.current_task().cancel()
        await asyncio.sleep(0)
    return 2 * number


def look(photo: njrt.Image, others: list[njrt.Image | None] = []):
    return [photo.media_type, *(other and other.url for other in others)]


def numbers() -> Iterator[int]:
    yield 1


def note(value):
    with Path("calls.txt").open("a") as file:
        file.write(f"{value}\\n")
    if Path("fails.txt").exists() and value in Path("fails.txt").read_text():
        raise ValueError(f"no {value}")
    return value
"""


@pytest.fixture
def here(here: BatchWorkplace) -> BatchWorkplace:
    """Return a directory with the functions above."""
    here.write_program(PLAIN, "plain.py")
    return here


# ── rows ─────────────────────────────────────────────────────────────────────────────────────────

ROWS: list[tuple[str, Any, Any]] = [
    ("describe", {"day": "2026-03-01", "order": {"item": "tea"}}, {"day": "2026-03-01", "order": {"item": "tea", "count": 1}, "color": "red", "tags": []}),
    ("describe", {"day": "2026-03-01", "order": {"item": "tea"}, "tags": ["b", "a"]}, {"day": "2026-03-01", "order": {"item": "tea", "count": 1}, "color": "red", "tags": ["a", "b"]}),
    ("describe", {"day": "soon", "order": {"item": "tea"}}, "InvalidRowError: row 3 (line 3): argument `day`: Input should be a valid date"),
    ("describe", {"order": {"item": "tea"}}, "InvalidRowError: row 4 (line 4): missing a required argument: 'day'"),
    ("describe", {"day": "2026-03-01", "order": {"item": "tea"}, "colour": "red"}, "InvalidRowError: row 5 (line 5): got an unexpected keyword argument 'colour'"),
    ("echo", "[1, 2]", "InvalidRowError: row 1 (line 1): not a JSON object"),
    ("echo", "{", "InvalidRowError: row 2 (line 2): not JSON: "),
    ("echo", '{"value": 1, "value": 2}', "InvalidRowError: row 3 (line 3): not JSON: the key `value` is there more than once"),
    ("echo", '{"value": {"a": 1, "b": 1, "a": 1}}', "InvalidRowError: row 4 (line 4): not JSON: the key `a` is there more than once"),
    ("echo", '{"value": NaN}', "NaN"),
    ("echo", '{"value": "\\u0000\u2028\u0085"}', "\0\u2028\x85"),
    ("echo", "null", "InvalidRowError: row 7 (line 7): not a JSON object"),
    ("echo", "\0", "InvalidRowError: row 8 (line 8): not JSON: "),
    ("echo", '{"value": ' + "[" * 100_000 + "]" * 100_000 + "}", "InvalidRowError: row 9 (line 9): not JSON: "),
    ("echo", '{"value": "\\ud800"}', "\ud800"),
    ("echo", {"value": "exit"}, "SystemExit: 3"),
    ("echo", {"value": "object"}, "TypeError: the result, a object, has no JSON form"),
    ("echo", {"value": "long"}, "TypeError: the result, a int, has no JSON form"),
    ("echo", {"value": "infinite"}, ["Infinity", "NaN"]),
    ("echo", {"value": "surrogate"}, "\ud800"),
    ("echo", {"value": "stop"}, "StopIteration: over"),
    ("echo", {"value": "interrupt"}, "KeyboardInterrupt: now"),
    ("echo", {"value": "cancel"}, "CancelledError: "),
    ("echo", {"value": "base"}, "BaseException: odd"),
    ("echo", {"value": {"nested": [1, None, "é"]}}, {"nested": [1, None, "é"]}),
    ("keywords", {"a": 1, "c": "3"}, [1, 2, {"c": 3}]),
    ("double", {"number": 4}, 8),
    ("double", {"number": 3}, 6),
    ("double", {"number": 5}, "CancelledError: "),
    ("double", {"number": 6}, 12),
]  # fmt: skip


def check_results(here: BatchWorkplace, *wanted: Any) -> None:
    """Compare the results with values, or with the beginnings of errors."""
    for number, (line, value) in enumerate(zip(here.read_results(), wanted, strict=True), 1):
        assert line["row"] == number
        if "error" in line:
            assert isinstance(value, str), line
            assert f"{line['error']['type']}: {line['error']['message']}".startswith(value), line
        else:
            assert line["result"] == value


@pytest.mark.parametrize("function", sorted({function for function, *_ in ROWS}))
def test_rows_give_results_or_errors(here: BatchWorkplace, function: str) -> None:
    cases = [(row, wanted) for name, row, wanted in ROWS if name == function]
    here.write_rows(row for row, _ in cases)
    failed = sum(isinstance(wanted, str) and "Error: " in wanted for _, wanted in cases)
    failed += sum(isinstance(wanted, str) and wanted[:4] in ("Syst", "Stop", "Keyb", "Base") for _, wanted in cases)  # fmt: skip
    printed = here.batch(target=f"plain.py:{function}", code=int(failed > 0))
    rows = "1 row" if len(cases) == 1 else f"{len(cases)} rows"
    assert f"{rows}, {failed} failed, 0 tokens, $0.0000; written: out.jsonl" in printed
    check_results(here, *(wanted for _, wanted in cases))


def test_blank_lines_and_marks_of_windows_do_not_matter(here: BatchWorkplace) -> None:
    Path("rows.jsonl").write_bytes(
        '\ufeff{"value": 1}\r\n\r\n{"value": 2}\n   \n{"value": '.encode()
    )
    here.batch(code=1)
    check_results(here, 1, 2, "InvalidRowError: row 3 (line 5): not JSON: ")


MAILS = [
    ["mail", "amount", "urgent", "copies"],
    ["Pay, please.\nNow", "84.20", "true", "2"],
    ['He said "no"', "1e2", "no", ""],
    ["ß", "much", "0", "1"],
    ["short", "1"],
    ["x" * 200_000, "0", "1", "1"],
]


@pytest.mark.parametrize("name", ["rows.csv", "rows.CSV", "rows.txt"])
def test_columns_of_csv_are_arguments(here: BatchWorkplace, name: str) -> None:
    with open(name, "w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file).writerows([*MAILS, []])
    flags = ("--format", "csv") if name == "rows.txt" else ()
    here.batch(*flags, target="plain.py:bill", rows=name, code=1)
    check_results(
        here,
        ["Pay, please.\nNow", 84.2, True, 2],
        ['He said "no"', 100.0, False, 1],
        "InvalidRowError: row 3 (line 5): argument `amount`: Input should be a valid number",
        "InvalidRowError: row 4 (line 6): 2 cells for 4 columns",
        ["x" * 200_000, 0.0, True, 1],
    )


WRONG_FILES: dict[str, tuple[str, str | bytes, str]] = {
    "an unknown column": ("a.csv", "value,colour\n1,2\n", "a.csv, line 1: the columns (`value`, `colour`) do not fit the function: got an unexpected keyword argument 'colour'"),
    "a missing column": ("a.csv", "note\n1\n", "a.csv, line 1: the columns (`note`) do not fit the function: missing a required argument: 'value'"),
    "a column twice": ("a.csv", "value,value\n1,2\n", "a.csv, line 1: the column `value` is there twice"),
    "a quotation mark": ("a.csv", 'value\n1\n"2"3\n', "a.csv, line 3 (row 2): "),
    "an open quotation": ("a.csv", 'value\n1\n"2\n', "(row 2): unexpected end of data"),
    "an empty file": ("a.csv", "", "a.csv, line 1: the columns (none) do not fit the function"),
    "no rows": ("a.csv", "value\n\n", "a.csv has no rows"),
    "an empty file of JSON": ("a.jsonl", "\n \n", "a.jsonl has no rows"),
    "Latin-1": ("a.csv", b"value\n\xe4\n", "a.csv is not UTF-8: invalid continuation byte; save it in UTF-8"),
    "UTF-16": ("a.jsonl", '{"value": 1}'.encode("utf-16"), "a.jsonl is not UTF-8: "),
    "another suffix": ("a.txt", "value\n1\n", "a.txt: its suffix is no format; name it by --format"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_FILES)
def test_a_file_of_rows_that_cannot_be_read_is_named(here: BatchWorkplace, name: str) -> None:
    file, content, message = WRONG_FILES[name]
    Path(file).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert message in here.batch(rows=file, code=2)
    assert sorted(os.listdir()) == sorted(
        {".git", "plain.py", file} | {"__pycache__"} & {*os.listdir()}
    )


def test_rows_may_name_files(here: BatchWorkplace) -> None:
    Path("photo.png").write_bytes(b"\x89PNG\r\n\x1a\n0000")
    url = "https://shop.example/1.png"
    photos = [
        {"photo": "photo.png"},
        {"photo": "photo.png", "others": [None, url]},
        {"photo": "no"},
    ]
    here.write_rows(photos)
    here.batch(target="plain.py:look", code=1)
    check_results(
        here,
        ["image/png"],
        ["image/png", None, url],
        "InvalidRowError: row 3 (line 3): argument `photo`: Value error, cannot read no: No",
    )


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("prog.njpy", "write PROGRAM:FUNCTION"),
        ("missing.njpy:f", "there is no file missing.njpy"),
        ("missing_module:f", "there is no module `missing_module`"),
        ("plain.py:echoo", "did you mean `echo`?"),
        ("plain.py:Order", "is not a function"),
        ("plain.py:numbers", "is a generator"),
        ("plain.py:Order.__init__", "is a method, and has no object"),
        ("broken.py:f", "cannot be imported: ZeroDivisionError"),
        ("leaving.py:f", "cannot be imported: SystemExit: 0"),
    ],
)
def test_what_is_no_function_is_refused(here: BatchWorkplace, target: str, message: str) -> None:
    here.write_program("1 / 0", "broken.py")
    here.write_program("raise SystemExit(0)", "leaving.py")
    here.write_rows([{}])
    assert message in here.batch(target=target, code=2)
    assert not Path("out.jsonl").exists()


def test_a_program_with_mistakes_is_shown(here: BatchWorkplace) -> None:
    here.write_program('def f(mail):\n    """natural\n    Read <mial>.\n    """\n')
    here.write_rows([{"mail": ""}])
    assert "prog.njpy:3" in here.batch(target="prog.njpy:f", code=1)


# ── files ────────────────────────────────────────────────────────────────────────────────────────


OUT, ROWS_FILE = Path("out.jsonl"), Path("rows.jsonl")


def replace_rows(make: Callable[[Path], object]) -> None:
    """Put something else in the place of the file of rows."""
    ROWS_FILE.unlink()
    make(ROWS_FILE)


UNUSABLE: dict[str, tuple[Callable[[], object], str]] = {
    "linked to the rows": (
        lambda: OUT.hardlink_to(ROWS_FILE),
        "out.jsonl is an input of this command",
    ),
    "linked to the program": (
        lambda: OUT.symlink_to("plain.py"),
        "out.jsonl is an input of this command",
    ),
    "a pipe out": (lambda: os.mkfifo(OUT), "out.jsonl is not a regular file"),
    "a device": (lambda: OUT.symlink_to("/dev/null"), "out.jsonl is not a regular file"),
    "a pipe of rows": (lambda: replace_rows(os.mkfifo), "rows.jsonl is not a regular file"),
    "a folder of rows": (lambda: replace_rows(Path.mkdir), "File 'rows.jsonl' is a directory"),
    "a folder out": (OUT.mkdir, "File 'out.jsonl' is a directory"),
    "other results": (
        lambda: OUT.write_text('{"index": 0, "result": 1}\n'),
        "out.jsonl, line 1: not a result of `njc batch`; name another file",
    ),
    "no rows": (ROWS_FILE.unlink, "cannot read rows.jsonl: No such file or directory"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_files_that_cannot_be_used_are_refused_and_kept(here: BatchWorkplace, name: str) -> None:
    prepare, message = UNUSABLE[name]
    here.write_rows([{"value": 1}])
    prepare()
    before = list_files()
    assert message in here.batch(code=2)
    assert list_files() == before


def list_files() -> dict[str, int]:
    """Return the inode of each file by its name."""
    entries = (entry for entry in os.scandir() if entry.name != "__pycache__")
    return {entry.name: entry.inode() for entry in entries}


def test_a_link_to_a_file_of_results_stays_a_link(here: BatchWorkplace) -> None:
    here.write_rows([{"value": 1}])
    Path("far.jsonl").touch()
    Path("out.jsonl").symlink_to("far.jsonl")
    here.batch()
    assert Path("out.jsonl").is_symlink()
    assert json.loads(Path("far.jsonl").read_text())["result"] == 1


def test_results_are_for_their_user_alone(here: BatchWorkplace) -> None:
    here.write_rows([{"value": 1}])
    here.batch()
    assert Path("out.jsonl").stat().st_mode & 0o077 == 0


def test_a_program_may_change_the_working_directory(here: BatchWorkplace) -> None:
    here.write_rows({"value": value} for value in ("move", 1, 2))
    here.batch("-j", "1")
    os.chdir(here.folder)
    check_results(here, "move", 1, 2)


# ── the same command again ───────────────────────────────────────────────────────────────────────


def read_calls() -> list[str]:
    """Return the values that the function was called with since the last time."""
    calls = Path("calls.txt").read_text().split() if Path("calls.txt").exists() else []
    Path("calls.txt").unlink(missing_ok=True)
    return sorted(calls)


def test_only_new_and_changed_rows_are_called_again(here: BatchWorkplace) -> None:
    here.write_rows({"value": value} for value in "abcd")
    here.batch(target="plain.py:note")
    assert read_calls() == ["a", "b", "c", "d"]
    here.batch(target="plain.py:note")
    assert read_calls() == []
    here.write_rows({"value": value} for value in "axcde")
    here.batch(target="plain.py:note")
    assert read_calls() == ["e", "x"]
    assert [line["result"] for line in here.read_results()] == [*"axcde"]
    here.write_rows({"value": value} for value in "ax")
    here.batch(target="plain.py:note")
    assert (read_calls(), [line["result"] for line in here.read_results()]) == ([], [*"ax"])


def test_equal_rows_are_rows_of_their_own(here: BatchWorkplace) -> None:
    here.write_rows({"value": value} for value in "aab")
    here.batch(target="plain.py:note")
    assert (read_calls(), len(here.read_results())) == (["a", "a", "b"], 3)


def test_renamed_columns_are_other_arguments(here: BatchWorkplace) -> None:
    for head, wanted in (("a,b", [1, 2, {}]), ("b,a", [2, 1, {}])):
        Path("rows.csv").write_text(f"{head}\n1,2\n")
        here.batch(target="plain.py:keywords", rows="rows.csv")
        assert [line["result"] for line in here.read_results()] == [wanted]


def test_failed_rows_are_called_again_with_retry(here: BatchWorkplace) -> None:
    here.write_rows({"value": value} for value in "abc")
    Path("fails.txt").write_text("bc")
    assert "3 rows, 2 failed" in here.batch(target="plain.py:note", code=1)
    check_results(here, "a", "ValueError: no b", "ValueError: no c")
    read_calls()
    assert "3 rows, 2 failed" in here.batch(target="plain.py:note", code=1)
    assert read_calls() == []
    Path("fails.txt").write_text("c")
    assert "3 rows, 1 failed" in here.batch("--retry", target="plain.py:note", code=1)
    assert read_calls() == ["b", "c"]
    Path("fails.txt").unlink()
    here.batch("--retry", target="plain.py:note")
    assert read_calls() == ["c"]
    check_results(here, "a", "b", "c")


def test_a_failed_row_that_is_no_longer_there_does_not_fail_the_batch(here: BatchWorkplace) -> None:
    here.write_rows({"value": value} for value in "ab")
    Path("fails.txt").write_text("b")
    here.batch(target="plain.py:note", code=1)
    here.write_rows([{"value": "a"}])
    assert "1 row, 0 failed" in here.batch(target="plain.py:note")


@pytest.mark.parametrize("kept", [0, 30, 75, -1])
def test_a_file_of_results_that_was_cut_off_is_completed(here: BatchWorkplace, kept: int) -> None:
    here.write_rows({"value": number} for number in range(2))
    here.batch()
    Path("out.jsonl").write_bytes(Path("out.jsonl").read_bytes()[:kept])
    here.batch()
    check_results(here, 0, 1)
