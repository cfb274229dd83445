"""The programs of the repository with other line ends, indents and characters: each answer is about the same names."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from language_programs import PROGRAMS, make_document, name_program
from pygls.workspace import PositionCodec
from strict_language_client import count_units, list_lines

from njc.editors.lsp.answers.completion import complete
from njc.editors.lsp.answers.highlighting import TOKEN_TYPES, list_tokens
from njc.editors.lsp.answers.hover import describe_place
from njc.editors.lsp.answers.navigation import find_definitions, find_references
from njc.editors.lsp.answers.rename import RenameRefused, find_renamed, rename
from njc.editors.lsp.serving.conversion import Converter
from njc.editors.lsp.texts.documents import Document, apply_edits

INSERTED = "😀\u0301\u2028"
"""A character of two halves in UTF-16, a combining one, and one that only some editors take for a line end."""
TRANSFORMATIONS: dict[str, Callable[[str], str]] = {
    "characters before references": lambda text: re.sub(
        r"(?<![<\w])(<:?[a-z])", rf"{INSERTED}\1", text
    ),
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "CR": lambda text: text.replace("\n", "\r"),
    "tabs": lambda text: re.sub(
        r"^(?: {4})+", lambda it: "\t" * (len(it[0]) // 4), text, flags=re.M
    ),
    "no last line end": str.rstrip,
}


def describe_answers(document: Document) -> list[object]:
    """Return the answers about each reference of the prompts, by texts and numbers of names in place of offsets."""
    reading = document.reading
    assert reading is not None
    numbers = {it.start: number for number, it in enumerate(reading.names)}
    found: list[object] = []
    for block in reading.blocks:
        for reference in block.references:
            offset = reference.start + 1 + reference.writes
            hover = describe_place(document, offset)
            assert hover is not None
            try:
                edits = rename(document, offset, "renamed_name")
                renamed: object = apply_edits(document.text, edits)
                place = find_renamed(document, offset)
                assert document.text[place.start : place.end] == reference.root
            except RenameRefused as refused:
                renamed = str(refused)
            end = offset + len(reference.root)
            found += [
                reference.path,
                document.text[hover.start : hover.end],
                [numbers.get(start) for start, _ in find_definitions(document, offset)],
                [numbers[it.start] for it in find_references(document, offset)],
                [(item.text, item.kind) for item in complete(document, end)],
                renamed,
            ]
    return found


def read_tokens(document: Document) -> list[tuple[str, str]]:
    """Return the texts and types of the semantic tokens, as a client reads them from the numbers of the protocol."""
    lines = list_lines(document.text)
    data = Converter(document, PositionCodec("utf-16")).encode_tokens(list_tokens(document))
    found, line, column = [], 0, 0
    for at in range(0, len(data), 5):
        down, right, length, kind, _ = data[at : at + 5]
        line, column = line + down, right + column * (not down)
        units = lines[line].encode("utf-16-le")
        found.append(
            (units[2 * column : 2 * (column + length)].decode("utf-16-le"), TOKEN_TYPES[kind])
        )
        assert column + length <= count_units(lines[line], "utf-16")
    return found


def normalize(text: object) -> str:
    """Return the text of an answer without the inserted characters, blanks and line ends."""
    return re.sub(r"[\s\u0301😀]+", "", str(text))


@pytest.mark.parametrize("name", TRANSFORMATIONS)
@pytest.mark.parametrize("file", PROGRAMS[::4], ids=name_program)
def test_answers_do_not_depend_on_the_characters_around(file: Path, name: str) -> None:
    text = file.read_text(encoding="utf-8")
    before, after = make_document(text), make_document(TRANSFORMATIONS[name](text))
    expected, found = describe_answers(before), describe_answers(after)
    assert list(map(normalize, found)) == list(map(normalize, expected))
    tokens = [[(normalize(it), kind) for it, kind in read_tokens(each)] for each in (before, after)]
    assert [it for it in tokens[0] if it[0]] == [it for it in tokens[1] if it[0]]
