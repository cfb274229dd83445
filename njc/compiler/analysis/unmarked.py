'''String statements that are not natural blocks, but were probably meant as blocks.

"""naturl
Sort <rows>."""             NJ103  a misspelled marker
"""Put it into <:n>."""    NJ103  an output, and no marker
"""Prompts
..."""                      a docstring like any other
'''

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from njc.compiler.frontend.blocks import FORM, BlockOrDiagnostic, NaturalBlock
from njc.compiler.frontend.diagnostics import Diagnostic, make_diagnostic
from njc.compiler.frontend.parse import Module

_OUTPUT = re.compile(r"<:[^\W\d]\w*(?:\.\w+)*(?:>|:[^<>\r\n]{1,80}>)")


_WORD_LINE = re.compile(
    r"f?(?:\"{3}|'{3})[ \t]*([A-Za-z]{5,8})[ \t]*(?:\([^\r\n]*\))?[ \t]*[:.,;]?[ \t]*[\r\n]"
)
"""A first line that is one word, perhaps with options and a punctuation mark."""
_MARKERS = ("natural", "prompt")
_DOCSTRINGS = (*_MARKERS, "naturals", "prompts", "prompter")


def may_have_unmarked(data: bytes) -> bool:
    """Return whether a file may contain a string with an output, or with a misspelled marker."""
    return b"<:" in data or any(map(_is_misspelled, _WORD_LINE.findall(data.decode("latin-1"))))


def _is_misspelled(word: str) -> bool:
    """Return whether a word is nearly a marker, and no summary of a docstring."""
    lower = word.lower()
    return lower not in _DOCSTRINGS and bool(get_close_matches(lower, _MARKERS, 1, 0.8))


def check_unmarked(module: Module, found: Sequence[BlockOrDiagnostic]) -> Iterator[Diagnostic]:
    """Report such strings that are neither blocks nor reported already."""
    source = module.source
    blocks = [each for each in found if isinstance(each, NaturalBlock)]
    starts = [block.start for block in blocks]

    def is_in_block(at: int) -> bool:
        before = bisect_right(starts, at)
        return before > 0 and at < blocks[before - 1].end

    outputs = [it for it in _OUTPUT.finditer(source.text) if not is_in_block(it.start())]
    reported = {each.line for each in found if isinstance(each, Diagnostic)}
    lines = (it for it in _WORD_LINE.finditer(source.text) if _is_misspelled(it[1]))
    words = {it.start(): it for it in lines}
    for node in ast.walk(module.tree) if outputs or words else ():
        if not isinstance(node, ast.Expr) or not isinstance(
            node.value, ast.Constant | ast.JoinedStr
        ):
            continue
        start, end = source.get_span(node)
        if (word := words.get(start)) is not None:
            message = f"`{word[1]}` is nearly a marker, and the string is no block"
            yield make_diagnostic(source, "NJ103", *word.span(1), message, FORM)
            continue
        output = next((it for it in outputs if start <= it.start() < end), None)
        if output and reported.isdisjoint(range(node.lineno, (node.end_lineno or 0) + 1)):
            message = f"the string has an output, `{output[0]}`, and no marker"
            yield make_diagnostic(source, "NJ103", *output.span(), message, FORM)
