"""Replies that come in, as the debugger shows them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from njc.runs.debug.session import StreamedLines, read_streamed_text
from njc.runs.timeline.happenings import ReplyStreamed

CODE = "total = 0\nfor price in prices:\n    total += price  # 'é' \\ \"quoted\"\n"
CALL = json.dumps({"code": CODE, "done": True})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("Here it is:\n```python\nx = 1", "Here it is:\n```python\nx = 1"),
        ("{", "{"),
        ('{"co', '{"co'),
        ('{"code": "to', "to"),
        ('{"code": "a\\n', "a\n"),
        ('{"code": "a\\', "a"),
        ('{"code": "a", "done": tr', "a"),
        ('{"expr": "len(x)"}', "len(x)"),
        ('{"value": "x"}', '{"value": "x"}'),
        ('text\n{"code": "a"}\n{"code": "b', "text\na\nb"),
        ('{"code": "a"}{"code": "b"}', "a\nb"),
        ('{"code": 1}', '{"code": 1}'),
        ("{not JSON", "{not JSON"),
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("{" * 5000, "{" * 5000),
    ],
)
def test_code_is_read_from_calls_that_are_not_whole(text: str, shown: str) -> None:
    assert read_streamed_text(text) == shown


@pytest.mark.parametrize("whole", [CODE, CALL, f"Sum.\n{CALL}\n{CALL}"])
def test_each_part_is_the_beginning_of_the_next(whole: str) -> None:
    lines, given = StreamedLines(), []
    for end in range(1, len(whole) + 1):
        given += lines.take(ReplyStreamed(1, "shop.njpy:3", 2, whole[:end]))
    given += lines.finish()
    expected = [line for line in read_streamed_text(whole).split("\n") if line]
    assert given[0] == "shop.njpy:3, turn 2:"
    assert [line for line in given[1:] if line][-len(expected) :] == expected


@given(st.text(alphabet='{}":\\\n code[]1é\x1b', max_size=60))
def test_no_text_is_too_strange(text: str) -> None:
    shown = read_streamed_text(text)
    assert "\x1b" not in shown
    assert StreamedLines().take(ReplyStreamed(1, "", 1, text))


def test_lines_of_another_reply_and_of_one_that_is_asked_for_again() -> None:
    lines = StreamedLines()
    assert lines.take(ReplyStreamed(1, "a:1", 1, "x = 1\ny")) == ["a:1, turn 1:", "x = 1"]
    assert lines.take(ReplyStreamed(1, "a:1", 1, "x = 1\ny = 2\n")) == ["y = 2"]
    assert lines.take(ReplyStreamed(1, "a:1", 1, "z = 3\n")) == ["z = 3"], "asked again"
    assert lines.take(ReplyStreamed(2, "b:1", 1, "k")) == ["b:1, turn 1:"]
    assert lines.take(ReplyStreamed(1, "a:1", 1, "z")) == ["k", "a:1, turn 1:"]
    assert lines.finish() == ["z"]
    assert lines.finish() == []
