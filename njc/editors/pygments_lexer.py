"""A lexer for Pygments, `njpy`: Python with natural blocks, colored as prompts with references.

    \"\"\"natural                       keyword, and the options after it as Python
    Put into <:n: int> ... <rows>     text, with reference names as variables and types as Python
    \"\"\"

As an installed entry point, it is found by Sphinx, MkDocs and `pygmentize -l njpy`. Pygments is
imported only here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from pygments.lexers.python import PythonLexer
from pygments.token import Keyword, Name, Punctuation, String

from njc.compiler.frontend.prompt_references import Reference, find_tags

Token = tuple[int, Any, str]
"""A token's offset, type and text."""

_BLOCK = re.compile(
    r"^(?P<indent>[ \t]*)(?P<quotes>[rRuUfF]{0,2}(?P<mark>\"{3}|'{3}))(?P<marker>natural|prompt)\b"
    r"(?P<options>[^\r\n]*)(?P<text>.*?)(?P<end>(?P=mark))",
    re.DOTALL | re.MULTILINE,
)


class NaturalPythonLexer(PythonLexer):
    """Python with natural blocks."""

    name = "Natural Python"
    aliases: ClassVar = ["njpy"]
    filenames: ClassVar = ["*.njpy"]
    mimetypes: ClassVar = ["text/x-njpy"]
    url = ""
    version_added = ""

    def get_tokens_unprocessed(self, text: str, stack: Any = ("root",)) -> Iterator[Token]:
        end = 0
        for block in _BLOCK.finditer(text):
            yield from self._lex_python(text, end, block.start())
            yield from self._lex_block(text, block)
            end = block.end()
        yield from self._lex_python(text, end, len(text))

    def _lex_python(self, text: str, start: int, end: int) -> Iterator[Token]:
        for offset, kind, value in super().get_tokens_unprocessed(text[start:end]):
            yield start + offset, kind, value

    def _lex_block(self, text: str, block: re.Match[str]) -> Iterator[Token]:
        yield block.start("indent"), String.Doc, block["indent"]
        yield block.start("quotes"), String.Doc, block["quotes"]
        yield block.start("marker"), Keyword, block["marker"]
        yield from self._lex_python(text, block.start("options"), block.end("options"))
        start, end = block.span("text")
        for tag in find_tags(block["text"]):
            if isinstance(tag, Reference):
                yield start, String.Doc, text[start : block.start("text") + tag.start]
                start = block.start("text") + tag.end
                yield from self._lex_reference(text, block.start("text") + tag.start, start)
        yield start, String.Doc, text[start:end]
        yield block.start("end"), String.Doc, block["end"]

    def _lex_reference(self, text: str, start: int, end: int) -> Iterator[Token]:
        opening = 2 if text[start + 1] == ":" else 1
        name, colon, _ = text[start + opening : end - 1].partition(":")
        yield start, Punctuation, text[start : start + opening]
        yield start + opening, Name.Variable, name
        if colon:
            at = start + opening + len(name)
            yield at, Punctuation, colon
            yield from self._lex_python(text, at + 1, end - 1)
        yield end - 1, Punctuation, text[end - 1]
