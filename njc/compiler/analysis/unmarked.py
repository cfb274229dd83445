'''String statements that are not natural blocks, but were probably meant as blocks.

"""naturl                   NJ108  a misspelled marker
"""natural:                 NJ108  the same
"""Put it into <:n>."""     NJ103  an output, and no marker
"""Prompts                  a docstring like any other, unless it has an output
'''

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from njc.compiler.frontend.blocks import FORM, BlockOrDiagnostic, NaturalBlock
from njc.compiler.frontend.diagnostics import Diagnostic, make_diagnostic
from njc.compiler.frontend.markers import OPENING
from njc.compiler.frontend.parse import Module

_OUTPUT = re.compile(r"<:[^\W\d]\w*(?:\.\w+)*(?:>|:[^<>\r\n]{1,80}>)")
_MARKERS = ("natural", "prompt")
_LINE = re.compile(
    r"\w{0,2}(?:\"{3}|'{3})[ \t]*(?P<word>[^\W\d_]{5,8})[ \t]*(?P<mark>[:.,;]?)"
    r"[ \t]*(?:\([^\r\n]*\)[ \t]*)?(?P<end>[:.,;]?)[ \t]*[\r\n]"
)
"""A first line that is one word, perhaps with a punctuation mark and options."""
_MAY_BE_UNMARKED = r"<:\w|(?:\"{3}|'{3})[ \t]*[A-Za-z]{5,8}[ \t]*[:.,;(\r\n]"
_MAY_BE_UNMARKED_BYTES = re.compile(_MAY_BE_UNMARKED.encode())


def may_have_unmarked(data: bytes) -> bool:
    """Return whether a file may contain a string with an output, or with a misspelled marker."""
    return _MAY_BE_UNMARKED_BYTES.search(data) is not None


def select_unmarked(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the findings that a file without blocks can have."""
    return tuple(it for it in diagnostics if it.code in ("NJ103", "NJ108"))


def check_unmarked(module: Module, found: Sequence[BlockOrDiagnostic]) -> Iterator[Diagnostic]:
    """Yield the findings among `found`, and more about string statements that are not blocks.

    A misspelled marker takes the place of all other findings about its string.
    """
    source, near = module.source, [each for each in found if isinstance(each, Diagnostic)]
    blocks = {each.start: each.end for each in found if isinstance(each, NaturalBlock)}
    if not _may_have_more(source.text, blocks):
        yield from near
        return
    reported, misspelled = {each.line for each in near}, set[int]()
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Expr):
            continue
        start, end = source.get_span(node)
        if start in blocks or not isinstance(node.value, ast.Constant | ast.JoinedStr):
            continue
        literal = source.text[start:end]
        lines = range(node.lineno, (node.end_lineno or 0) + 1)
        if (marker := _find_misspelled_marker(literal)) is not None:
            misspelled.update(lines)
            word, meant, place = marker
            message = f"`{word}` is nearly the marker `{meant}`"
            if word == meant:
                message = f"punctuation follows the marker `{meant}`"
            message += ", so the string is not a natural block"
            at = (start + place.start, start + place.stop)
            yield make_diagnostic(source, "NJ108", *at, message, f'did you mean `"""{meant}`?')
            continue
        if (output := _OUTPUT.search(literal)) and reported.isdisjoint(lines):
            message = f"the string has an output, `{output[0]}`, and no marker"
            at = (start + output.start(), start + output.end())
            yield make_diagnostic(source, "NJ103", *at, message, FORM)
    yield from (each for each in near if each.line not in misspelled)


def _may_have_more(text: str, blocks: Mapping[int, int]) -> bool:
    """Return whether a text may contain such a string outside the blocks between these offsets."""
    position, outside = 0, []
    for start, end in sorted(blocks.items()):
        outside.append(text[position:start])
        position = end
    outside.append(text[position:])
    return any(re.search(_MAY_BE_UNMARKED, part) for part in outside)


def _find_misspelled_marker(literal: str) -> tuple[str, str, slice] | None:
    """Return a literal's first word, the marker that it misspells, and its offsets, or None.

    A word that may be the summary of a docstring, such as `Prompts`, counts only above an output.
    """
    if (found := _LINE.match(literal)) is None or OPENING.match(literal):
        return None
    word = found["word"]
    for marker in _MARKERS:
        is_ordinary = word.lower() in (marker, f"{marker}s")
        is_marked = word == marker and (found["mark"] or found["end"])
        if is_ordinary and not is_marked and (word == marker or not _OUTPUT.search(literal)):
            continue
        if _has_one_typo(word.lower(), marker):
            return word, marker, slice(*found.span("word"))
    return None


def _has_one_typo(word: str, meant: str) -> bool:
    """Return whether at most one letter is wrong, missing, added, or exchanged with the next."""
    same = 0
    while word[same : same + 1] == meant[same : same + 1] != "":
        same += 1
    word, meant = word[same:], meant[same:]
    is_exchanged = word[:2] == meant[1::-1] and word[2:] == meant[2:]
    return is_exchanged or word[1:] in (meant, meant[1:]) or word in (meant, meant[1:])
