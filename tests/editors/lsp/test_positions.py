"""Places in a text: every offset there and back, in each encoding, against Python's own codecs."""

from __future__ import annotations

import pytest
from language_programs import make_document
from lsprotocol import types as lsp
from pygls.workspace import PositionCodec
from strict_language_client import UNITS, count_units

from njc.editors.lsp.serving.conversion import Converter

TEXT = "a\té😀x\r\n\r\n\u2028b\fc\rd\ud800e\n😀😀\n"


@pytest.mark.parametrize("encoding", UNITS)
def test_every_offset_there_and_back(encoding: str) -> None:
    converter = Converter(make_document(TEXT), PositionCodec(encoding))
    starts = converter.document.lines.starts
    for offset in range(len(TEXT) + 1):
        place = converter.make_position(offset)
        written = TEXT[starts[place.line] : offset].rstrip("\r")
        assert place.character == count_units(written, encoding)
        if TEXT[offset - 1 : offset + 1] != "\r\n" and TEXT[offset - 1 : offset] != "\r":
            assert converter.read_position(place) == offset
    assert len(starts) == 6


@pytest.mark.parametrize("encoding", UNITS)
def test_places_outside_of_the_text_are_moved_into_it(encoding: str) -> None:
    converter = Converter(make_document(TEXT), PositionCodec(encoding))
    assert converter.read_position(lsp.Position(0, 10_000)) == 5
    assert converter.read_position(lsp.Position(10_000, 0)) == len(TEXT)
    assert converter.make_position(10_000) == converter.make_position(len(TEXT))


@pytest.mark.parametrize(
    "text", ["\ufeffx = 'é'\n", "# coding: latin-1\nx = '😀'\n", "# coding: klingon\nx = 1\n"]
)
def test_a_client_has_decoded_its_text(text: str) -> None:
    whole = make_document("").change(text, 2)
    assert (whole.findings, whole.version) == ((), 2)
    assert whole.source.text == text.removeprefix("\ufeff")


@pytest.mark.parametrize("text", ["x = '\ud800'\n", "a\0b\n"])
def test_texts_that_no_file_has_are_findings(text: str) -> None:
    assert [finding.code for finding in make_document(text).findings][:1] in (["NJ001"], ["NJ002"])
