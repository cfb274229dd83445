"""No text makes a feature fail: random edits of every program, each feature at random places."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pytest
from language_programs import PROGRAMS, edit_at_random, make_document, name_program
from pygls.workspace import PositionCodec

from njc.editors.lsp.answers.actions import list_corrections
from njc.editors.lsp.answers.completion import complete
from njc.editors.lsp.answers.folds import list_folds, list_lenses
from njc.editors.lsp.answers.highlighting import list_tokens
from njc.editors.lsp.answers.hover import describe_place
from njc.editors.lsp.answers.navigation import find_definitions, find_references
from njc.editors.lsp.answers.rename import RenameRefused, find_renamed, rename
from njc.editors.lsp.serving.conversion import Converter
from njc.editors.lsp.texts.documents import Document

EDITS = 6


def ask_everything(document: Document, offset: int) -> None:
    """Ask for all that an editor could ask for at an offset; what comes must lie in the text."""
    converter = Converter(document, PositionCodec("utf-16"))
    length = len(document.text)
    for suggestion in complete(document, offset):
        assert 0 <= suggestion.start <= offset <= suggestion.end <= length
    describe_place(document, offset)
    for start, end in find_definitions(document, offset):
        assert 0 <= start <= end <= length + 3  # a prompt without an end is read as if it had one
    find_references(document, offset)
    for first, last in list_folds(document):
        assert first < last
    tokens = list_tokens(document)
    data = converter.encode_tokens(tokens)
    assert all(number >= 0 for number in data)
    assert all(one.end <= other.start for one, other in pairwise(tokens))
    for correction in list_corrections(document, max(0, offset - 50), offset + 50):
        converter.make_code_action(correction)
    list_lenses(document, {})
    try:
        find_renamed(document, offset)
        rename(document, offset, "renamed")
    except RenameRefused:
        pass


@pytest.mark.parametrize("file", PROGRAMS, ids=name_program)
def test_no_text_makes_a_feature_fail(file: Path) -> None:
    generator = random.Random(name_program(file))
    for text in edit_at_random(file.read_text(encoding="utf-8"), EDITS, generator):
        document = make_document(text)
        places = [
            text.find("<", generator.randrange(len(text) + 1)) + 2,
            generator.randrange(len(text) + 1),
        ]
        for offset in places:
            ask_everything(document, min(max(offset, 0), len(text)))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        '"""natural',
        '"""natural\n',
        '"""natural\n<',
        '"""natural\n<:x:',
        '"""natural\n"""',
        'f"""natural\n{<x>}"""',
        'f"""natural\n{',
        "\ufeffx = 1\n",
        "\0",
        "x = '\ud800'",
        "(" * 500,
        "if x:\n" + " if x:\n" * 200,
        "\f\f\n\x0b\u2028\n",
        "'''natural\n<a.b.c.d.e>\n'''\n" * 50,
        "async def f():\n    [x async for x in y]\n    await z\n",
        "class A:\n    '''natural\n    <:x> <__y>\n    '''\n",
        "match x:\n    case _:\n        '''natural\n        <x>\n        '''\n",
        "def f[T: int](x: T) -> T: ...\ntype A[B] = list[B]\n",
    ],
)
def test_odd_texts(text: str) -> None:
    document = make_document(text)
    for offset in sorted({0, 1, len(text) // 2, len(text)}):
        ask_everything(document, min(offset, len(text)))
    assert isinstance(document.findings, tuple)
