'''Rewriting a string that nightjarpy took for a natural block.

    """natural  (blanks)                  """natural(model="openai/gpt-5.1")
    1 << 2 bits of <data>                 1 <<<< 2 bits of <data>

    """natural Sum up <data>."""          """natural
                                              Sum up <data>.
                                              """

Only references are changed, and only in the text: what an f-string interpolates stays as it is.
'''

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from njc.frontend.references import Reference, blank_fields, find_tags
from njrt.options import OPTION_NAMES

_LITERAL = re.compile(
    r"(?P<prefix>[rRuUfF]{0,2})(?P<quotes>\"{3}|'{3})(?P<before>[ \t]*)(?P<marker>natural|prompt)"
    r"(?P<after>[ \t]*)(?:(?P<newline>\r\n|\n|\r)|[:,.]?[ \t]*(?P<same_line>\S))"
)
_BRACKETS = re.compile(r"<{2,}")
_MARKUP = re.compile(
    "a|b|br|center|code|d[dlt]|div|em|font|h[1-6r]|html|i|img|li|[ou]l|p|pre|s|small|span|strong|"
    "su[bp]|table|tbody|t[dhr]|thead|u",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class RewrittenLiteral:
    """The literal of a natural block, and notes on it, each with its line within the literal."""

    literal: str
    notes: tuple[tuple[int, str], ...] = ()


def rewrite_literal(
    literal: str, options: Mapping[str, Any], margin: str
) -> RewrittenLiteral | None:
    """Rewrite a string statement of a natural function; None if it is no natural block.

    `margin` is the indentation of the statement.
    """
    opened = _LITERAL.match(literal)
    if opened is None:
        return None
    text = _blank_fstring_fields(literal, opened["prefix"])
    if opened["newline"] is None and not any(isinstance(tag, Reference) for tag in find_tags(text)):
        return None
    notes = tuple(_find_new_references(text))
    if opened["before"] or opened["after"] or not opened["newline"]:
        notes += ((0, "nightjarpy took this for a plain string; now it is a natural block"),)
    body = _rewrite_body(literal, text, opened)
    marker = f"{opened['prefix']}{opened['quotes']}{opened['marker']}{_format_options(options)}"
    if opened["newline"]:
        return RewrittenLiteral(f"{marker}{opened['newline']}{body}", notes)
    if "\n" not in body:
        body = f"{body.removesuffix(opened['quotes']).rstrip()}\n{margin}{opened['quotes']}"
    return RewrittenLiteral(f"{marker}\n{margin}{body}", notes)


def _rewrite_body(literal: str, text: str, opened: re.Match[str]) -> str:
    """Return what follows the marker, with every `<<` doubled that is not meant as one `<`."""
    start = opened.end() if opened["newline"] else opened.start("same_line")
    pieces, position = [], start
    for match in _BRACKETS.finditer(text, start):
        reference = next(find_tags(text[match.end() - 1 : match.end() + 1000]), None)
        begins_one = reference is not None and reference.start == 0
        kept = len(match[0]) - begins_one
        pieces += [literal[position : match.start()], "<" * (2 * kept + begins_one)]
        position = match.end()
    return "".join([*pieces, literal[position:]])


def _find_new_references(text: str) -> Iterator[tuple[int, str]]:
    for tag in find_tags(text):
        if isinstance(tag, Reference) and (tag.is_dotted or tag.type):
            written = text[tag.start : tag.end]
            what = f"an output of type `{tag.type}`" if tag.type else "a reference"
            line = text.count("\n", 0, tag.start)
            yield line, f"`{written}` is {what} now; write `<{written}` if it is meant as text"


def is_markup(text: str, name: str) -> bool:
    """Return whether `<name>` in a prompt is rather markup than a variable."""
    return f"</{name}>" in text or _MARKUP.fullmatch(name) is not None


def is_natural(value: object) -> bool:
    """Return whether nightjarpy takes a string of this value for a natural block."""
    return isinstance(value, str) and value.startswith("natural\n")


def _blank_fstring_fields(literal: str, prefix: str) -> str:
    """Return the literal with the fields of an f-string blanked; offsets stay."""
    prefix = prefix.lower()
    return blank_fields(literal, "r" in prefix) if "f" in prefix else literal


def _format_options(options: Mapping[str, Any]) -> str:
    """Options as they stand on the marker line."""
    said = [
        f"{name}={json.dumps(options[name], ensure_ascii=False)}"
        for name in OPTION_NAMES
        if name in options
    ]
    return f"({', '.join(said)})" if said else ""
