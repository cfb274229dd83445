"""Semantic tokens: the parts of a prompt that a grammar cannot color.

'''natural(max_calls=3)         keyword, property
Put <ticket> into <:team: str>  string, variable (readonly), string, variable (modification), type
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from njc.compiler.frontend.markers import match_opening
from njc.compiler.frontend.prompt_references import NAME, Reference
from njc.editors.lsp.texts.documents import (
    Document,
    Reading,
)
from njrt.data.records import record

TOKEN_TYPES = ("keyword", "string", "variable", "property", "type", "operator", "parameter")
TOKEN_MODIFIERS = ("modification", "readonly", "defaultLibrary")

_OPTION_NAME = re.compile(r"(\w+)\s*=")


@record
class SemanticToken:
    """A part of one line, with a type of TOKEN_TYPES and modifiers of TOKEN_MODIFIERS."""

    start: int
    end: int
    type: str
    modifiers: tuple[str, ...] = ()


def list_tokens(document: Document) -> list[SemanticToken]:
    """Return the tokens of all prompts in text order; they do not overlap."""
    reading = document.reading
    if reading is None or not document.is_python:
        return []
    tokens = []
    for block in reading.blocks:
        opened = match_opening(block.literal)
        assert opened is not None, "a block starts with its marker"
        marker = block.start + opened.start("marker")
        tokens.append(SemanticToken(marker, marker + len(opened["marker"]), "keyword"))
        for option in _OPTION_NAME.finditer(block.literal, *opened.span("options")):
            start, end = option.span(1)
            tokens.append(SemanticToken(block.start + start, block.start + end, "property"))
        position = block.start + opened.end()
        for reference in block.references:
            tokens += _split_lines(reading, position, reference.start, "string")
            tokens += _list_reference_tokens(reading, reference)
            position = reference.end
        tokens += _split_lines(reading, position, block.end - 3, "string")
    return tokens


def _list_reference_tokens(reading: Reading, reference: Reference) -> Iterator[SemanticToken]:
    """Yield the tokens of a reference: `<`, the variable, its attributes, the type, `>`."""
    text, start = reading.module.source.text, reference.start + 1 + reference.writes
    yield SemanticToken(reference.start, start, "operator")
    modifiers = ("modification",) if reference.writes else ("readonly",)
    end = start
    for number, part in enumerate(re.finditer(NAME, text[start : reference.end])):
        if number and text[start + part.start() - 1] != ".":
            break
        begin, end = start + part.start(), start + part.end()
        yield SemanticToken(begin, end, "property" if number else "variable", modifiers)
    if text[end : reference.end - 1].strip():
        colon = text.index(":", end)
        yield from _split_lines(reading, colon + 1, reference.end - 1, "type")
    yield SemanticToken(reference.end - 1, reference.end, "operator")


def _split_lines(reading: Reading, start: int, end: int, type: str) -> Iterator[SemanticToken]:
    """Yield a token for the text on each line between two offsets, without surrounding blanks."""
    text = reading.module.source.text
    for line in re.finditer(r"[^\r\n]+", text[start:end]):
        blanks = len(line[0]) - len(line[0].lstrip())
        content = line[0].strip()
        if content:
            begin = start + line.start() + blanks
            yield SemanticToken(begin, begin + len(content), type)
