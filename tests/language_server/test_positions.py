"""Places in a text: every offset there and back, in each encoding, against Python's own codecs."""

from __future__ import annotations

import random

import pytest
from language_programs import make_document

from njc.editors.language_server.serving.conversion import choose_encoding
from njc.editors.language_server.texts.documents import (
    ContentChange,
    LineIndex,
    PositionEncoding,
    apply_changes,
    count_units,
)

TEXT = "a\té😀x\r\n\r\n\u2028b\fc\rd\ud800e\n😀😀\n"
ENCODINGS: tuple[PositionEncoding, ...] = ("utf-8", "utf-16", "utf-32")
UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_offset_there_and_back(encoding: PositionEncoding) -> None:
    lines = LineIndex(TEXT)
    codec, size = UNITS[encoding]
    for offset in range(len(TEXT) + 1):
        line, column = lines.get_position(offset, encoding)
        written = TEXT[lines.starts[line] : offset].rstrip("\r")
        assert column == len(written.encode(codec, "surrogatepass")) // size
        if TEXT[offset - 1 : offset + 1] != "\r\n" and TEXT[offset - 1 : offset] != "\r":
            assert lines.get_offset(line, column, encoding) == offset
    assert len(lines.starts) == 6


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_places_outside_of_the_text_are_moved_into_it(encoding: PositionEncoding) -> None:
    lines = LineIndex(TEXT)
    assert lines.get_offset(0, 10_000, encoding) == 5
    assert lines.get_offset(10_000, 0, encoding) == len(TEXT)
    assert lines.get_offset(-1, 5, encoding) == 0
    assert lines.get_offset(0, -5, encoding) == 0
    assert lines.get_position(10_000, encoding) == lines.get_position(len(TEXT), encoding)


def test_a_place_inside_of_a_character_is_its_start() -> None:
    lines = LineIndex("é😀x")
    assert [lines.get_offset(0, column, "utf-16") for column in range(5)] == [0, 1, 1, 2, 3]
    assert [lines.get_offset(0, column, "utf-8") for column in range(8)] == [0, 0, 1, 1, 1, 1, 2, 3]


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (None, "utf-16"),
        ([], "utf-16"),
        (["utf-8", "utf-16"], "utf-8"),
        (["utf-32"], "utf-32"),
        (["utf-7", "utf-32"], "utf-32"),
        (["utf-7"], "utf-16"),
    ],
)
def test_the_first_known_encoding_is_chosen(offered: list[str] | None, chosen: str) -> None:
    assert choose_encoding(offered) == chosen


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_incremental_changes_are_those_of_the_whole_text(encoding: PositionEncoding) -> None:
    """Random changes, sent as spans in the units of a client, and applied by the client to its own text."""
    generator = random.Random(encoding)
    document = make_document(TEXT)
    text = TEXT
    for version in range(200):
        lines = LineIndex(text)
        start, end = sorted(generator.randrange(len(text) + 1) for _ in range(2))
        end = min(end, start + 6)
        first, last = lines.get_position(start, encoding), lines.get_position(end, encoding)
        start, end = (lines.get_offset(*place, encoding) for place in (first, last))
        new = generator.choice(("", "x", "😀", "\r\n", "\r", "\n", "é\t", "\u2028", '"""'))
        text = text[:start] + new + text[end:]
        document = apply_changes(document, [ContentChange(new, (*first, *last))], version, encoding)
        assert document.text == text
        assert document.version == version
    changes = [
        ContentChange("whole"),
        ContentChange("x", (0, 5, 0, 5)),
        ContentChange("y", (0, 0, 0, 1)),
    ]
    assert apply_changes(document, changes, 1, encoding).text == "yholex"
    backwards = ContentChange("z", (0, 3, 0, 1))
    assert apply_changes(make_document("abcd"), [backwards], 1, encoding).text == "abczd"


@pytest.mark.parametrize(
    "text", ["\ufeffx = 'é'\n", "# coding: latin-1\nx = '😀'\n", "# coding: klingon\nx = 1\n"]
)
def test_a_client_has_decoded_its_text(text: str) -> None:
    whole = apply_changes(make_document(""), [ContentChange(text)], 2, "utf-16")
    assert whole.findings == ()
    assert whole.source.text == text.removeprefix("\ufeff")


@pytest.mark.parametrize("text", ["x = '\ud800'\n", "a\0b\n"])
def test_texts_that_no_file_has_are_findings(text: str) -> None:
    assert [finding.code for finding in make_document(text).findings][:1] in (["NJ001"], ["NJ002"])


def test_units() -> None:
    assert [count_units("é😀", encoding) for encoding in ENCODINGS] == [6, 3, 2]
