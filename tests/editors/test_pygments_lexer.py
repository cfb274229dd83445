"""The lexer for Pygments: every text comes out whole, and references are colored as the compiler reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pygments.lexers import get_lexer_by_name
from pygments.token import Keyword, Name, Token

from njc.compiler.compiler import compile_source
from njc.compiler.frontend.source import SourceFile
from njc.editors.pygments_lexer import NaturalPythonLexer

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted([*ROOT.glob("examples/*.njpy"), *ROOT.glob("spsbench/programs/*/*.njpy")])


def lex(text: str) -> list[tuple[object, str]]:
    return [(kind, value) for _, kind, value in NaturalPythonLexer().get_tokens_unprocessed(text)]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_program_comes_out_whole_with_its_references(path: Path) -> None:
    text = path.read_text()
    tokens = lex(text)
    assert "".join(value for _, value in tokens) == text
    blocks = compile_source(SourceFile(path.name, text.encode())).blocks
    references = [reference.path for block in blocks for reference in block.references]
    assert [value for kind, value in tokens if kind is Name.Variable] == references
    markers = [value for kind, value in tokens if kind is Keyword and value == "natural"]
    assert len(markers) == len(blocks)
    assert not any(kind is Token.Error for kind, _ in tokens)


@pytest.mark.parametrize(
    "text",
    [
        '"""natural\nunfinished <x',
        'x = """natural\nno statement <x>"""\n',
        "'''natural(effects=\"answer\")\n<:y: dict[str, int]> of < x > and <<b>\n'''\n",
        'f"""natural\n{value} and <:y>\n"""',
        "",
    ],
)
def test_any_text_comes_out_whole(text: str) -> None:
    assert "".join(value for _, value in lex(text)) == text


def test_the_lexer_is_an_entry_point() -> None:
    assert type(get_lexer_by_name("njpy")) is NaturalPythonLexer
