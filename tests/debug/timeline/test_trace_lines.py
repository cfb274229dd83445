"""Trace files are read as what was written, and as far as they can be read."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import get_args

import pytest

import njrt
from njc.debug.trace_lines import (
    AskedLine,
    BeganLine,
    EndedLine,
    EventLine,
    PerformedLine,
    RepliedLine,
    UnreadableLine,
    parse_trace,
    read_trace,
)
from njrt.testing import Scripted, run

ROOT = Path(__file__).parents[3]


def trace_block(path: Path, *replies: object) -> None:
    """Write the trace of one block to a file."""
    prices, total = [3, 4], None
    with njrt.using(model=Scripted(list(replies)), trace=path):
        njrt.run(
            "natural\nPut the sum of <prices> into <:total>.",
            lambda: (prices, total),
            writes="total",
            at="shop.njpy:3",
        )


def test_a_written_trace_is_read(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    trace_block(path, run("print('hello')\nhalf = 7"), run("total = sum(prices)", done=True))
    lines = list(read_trace(path))
    began, asked, replied, first, *_, second, ended = lines
    assert isinstance(began, BeganLine)
    assert isinstance(asked, AskedLine)
    assert isinstance(replied, RepliedLine)
    assert isinstance(first, PerformedLine)
    assert isinstance(second, PerformedLine)
    assert isinstance(ended, EndedLine)
    assert began.instruction == ["Put the sum of <prices> into <:total>."]
    assert began.state == {"prices": "list[int], 2 items = [3, 4]", "total": "None"}
    assert (first.changes, first.printed) == ({"half": "int = 7"}, "hello\n")
    assert (second.changes, second.result) == ({"total": "int = 7"}, "completed")
    assert (ended.changes, ended.digest) == ({}, second.digest)
    assert len({began.digest, first.digest, second.digest}) == 3


LINE = b'{"event": "ended", "run": "r", "at": "2026-03-01T09:30:00Z", "outcome": "failed", "seconds": 1}'

PROBLEMS = {
    "cut off": (LINE[:40], "cut off: the line has no end"),
    "missing field": (
        LINE.replace(b', "seconds": 1', b"") + b"\n",
        "ended.seconds: Field required",
    ),
    "wrong type": (
        LINE.replace(b"1}", b'"x"}') + b"\n",
        "ended.seconds: Input should be a valid number",
    ),
    "a recording": (
        b'{"format": 1, "protocol": "tools"}\n',
        "this is a recording; NJC_TRACE=FILE writes traces",
    ),
    "not JSON": (
        b"Traceback\n",
        "a line without `event`; NJC_TRACE=FILE writes traces",
    ),
    "a number": (b"1\n", "a line without `event`; NJC_TRACE=FILE writes traces"),
    "too long": (b"x" * (16 << 20) + b"\n", "longer than 16,777,216 bytes"),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_what_cannot_be_read_is_said_and_the_rest_is_read(name: str) -> None:
    line, problem = PROBLEMS[name]
    first, second = parse_trace([LINE + b"\n", line])
    assert isinstance(first, EndedLine)
    assert second == UnreadableLine(2, problem)


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b'{"event": "example", "place": "a.njpy:1"}\n',
        b'{"event": "invented later", "run": "r"}\n',
    ],
)
def test_other_lines_are_left_out(line: bytes) -> None:
    assert list(parse_trace([line])) == []


def test_fields_of_newer_versions_and_lone_surrogates_are_read() -> None:
    newer = LINE.replace(b'"failed"', b'"failed", "error": "\\ud800", "later": 1')
    (line,) = parse_trace([newer + b"\n"])
    assert isinstance(line, EndedLine)
    assert line.error == "?"


def test_an_old_trace_has_no_states() -> None:
    old = b'{"event": "began", "run": "r", "at": "2026-03-01T09:30:00Z", "place": "a.njpy:1"}\n'
    (line,) = parse_trace([old])
    assert isinstance(line, BeganLine)
    assert (line.state, line.digest) == (None, "")


def test_the_document_shows_lines_that_are_read_and_names_every_field() -> None:
    section = (
        (ROOT / "docs/reference/tracing.md")
        .read_text()
        .partition("## The file")[2]
        .partition("\n## ")[0]
    )
    lines = re.findall(r"^\{.*\}$", section, re.MULTILINE)
    parsed = list(parse_trace([line.encode() + b"\n" for line in lines]))
    assert [type(line).__name__ for line in parsed] == [
        "BeganLine",
        "AskedLine",
        "RepliedLine",
        "PerformedLine",
        "EndedLine",
    ]
    fields = {part.name for kind in get_args(EventLine) for part in dataclasses.fields(kind)}
    shown = {name for line in lines for name in json.loads(line)}
    named = set(re.findall(r"`(\w+)`", section))
    only_of_controlled_runs = {"file"}
    assert fields - shown - named - {"temperature"} - only_of_controlled_runs == set()
