"""Completion of names in prompts (`<na`, `<self.na`, `<:na`, `<:x: ty`) and of a block's options.

    Put <ti|            ticket: str, tickets: list[str]
    Put <self.|         the fields and methods of the class
    Put <:to|           total, and any other name that may be bound
    Put <:total: i|     int, Item
    '''natural(ma|      max_calls, max_effects, ...

The text need not be valid Python: the readable part of it is used, or else its last valid version.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from njc.compiler.frontend.blocks import NaturalBlock
from njc.compiler.frontend.diagnostics import FATAL, SEVERITIES
from njc.compiler.frontend.prompt_references import NAME, PATH, find_name_end
from njc.editors.lsp.answers.navigation import (
    NameKind,
    list_members,
    list_names_at,
    list_variables,
)
from njc.editors.lsp.texts.documents import Document, Reading, find_open_prompt
from njc.findings import read_finding
from njrt.data.options import DEFAULTS, OPTION_CHOICES, OPTION_NAMES
from njrt.data.records import record

SuggestionKind = Literal[NameKind, "option", "value", "code"]

_OPEN_REFERENCE = re.compile(
    rf"(?<!<)<(?P<writes>:?)(?P<owner>(?:{NAME}\.)*)(?P<name>(?:{NAME})?)\Z"
    rf"|(?<!<)<:(?P<path>{PATH})[ \t]*:[^<>\n]*?(?P<type>(?:{NAME})?)\Z"
)
_OPEN_OPTIONS = re.compile(
    r"(?P<quotes>\"{3}|'{3})(?:natural|prompt)[ \t]*\((?P<before>[^\r\n]*?)(?P<word>\w*)\Z"
)
_OPEN_COMMENT = re.compile(
    r"#[ \t]*njc:[ \t]*ignore\[[^\]\r\n]*?(?P<code>\w*)\Z"
    r"|^[ \t]*#[ \t]*njc:[ \t]*(?P<before>[^\r\n]*?)(?P<word>[\w-]*)\Z",
    re.MULTILINE,
)
_OPTION_VALUE = re.compile(r"(?P<name>\w+)\s*=\s*[\"']?\Z")
MAX_REFERENCE = 300
"""The number of characters to read before the cursor."""


@record
class Suggestion:
    """A text to insert between two offsets, with a description."""

    text: str
    kind: SuggestionKind
    start: int
    end: int
    detail: str = ""
    closes: bool = False
    """Whether the closing `>` is missing, and should be inserted too."""


def complete(document: Document, offset: int) -> list[Suggestion]:
    """Return the suggestions at an offset; none outside prompts and options."""
    text = document.text
    if not document.is_natural:
        return []
    line_start = text.rfind("\n", 0, offset) + 1
    if options := _OPEN_OPTIONS.search(text, line_start, offset):
        return list(_suggest_options(options["before"], options["word"], offset, quoted=True))
    if comment := _OPEN_COMMENT.search(text, line_start, offset):
        if (code := comment["code"]) is not None:
            start = offset - len(code)
            titles = {code: read_finding(code).title for code in sorted(SEVERITIES.keys() - FATAL)}
            return [Suggestion(name, "code", start, offset, titles[name]) for name in titles]
        before, word = comment["before"], comment["word"]
        if "ignore" in before:
            return []
        suggestions = list(_suggest_options(before, word, offset, quoted=False))
        if not before.strip():
            suggestions.append(Suggestion("ignore[", "option", offset - len(word), offset))
        return suggestions
    opened = _OPEN_REFERENCE.search(text, max(0, offset - MAX_REFERENCE), offset)
    if opened is None or find_open_prompt(text, offset) is None:
        return []
    return _suggest_names(document, opened, offset)


def _suggest_names(document: Document, opened: re.Match[str], offset: int) -> list[Suggestion]:
    found = _find_block(document, offset)
    if found is None:
        return []
    reading, block = found
    word = opened["type"] if opened["path"] else opened["name"]
    if opened["path"]:
        names = list(list_variables(reading, block))
    elif opened["owner"]:
        names = list(list_members(reading, block, opened["owner"].rstrip(".")))
    else:
        names = list_names_at(reading, block)
    if opened["writes"] and not opened["owner"]:
        names = [name for name in names if name.kind not in ("module", "class", "function")]
    end = find_name_end(document.text, offset)
    closes = not opened["path"] and document.text[end : end + 1] not in (">", ".", ":")
    start = offset - len(word)
    suggestions = []
    for name in names:
        details = (name.type, f"line {name.lines[0]}" if name.lines else "")
        detail = ", ".join(filter(None, details))
        suggestions.append(Suggestion(name.name, name.kind, start, end, detail, closes))
    return suggestions


def _find_block(document: Document, offset: int) -> tuple[Reading, NaturalBlock] | None:
    """Return the block at an offset; for unreadable text, the nearest above in the last version."""
    reading = document.read_at(offset)
    if reading is not None and (block := reading.find_block(offset)) is not None:
        return reading, block
    last = document.last_reading
    if last is None:
        return None
    line = document.lines.get_position(offset)[0] + 1
    above = [block for block in last.blocks if block.line <= line]
    return (last, above[-1]) if above else None


def _suggest_options(before: str, word: str, offset: int, *, quoted: bool) -> Iterator[Suggestion]:
    """Yield option names, or the values of the option at this place."""
    start = offset - len(word)
    if value := _OPTION_VALUE.search(before):
        is_open = before.endswith(("'", '"'))
        for choice in OPTION_CHOICES.get(value["name"], ()):
            text = f'"{choice}"' if quoted and not is_open else choice
            yield Suggestion(text, "value", start, offset)
        return
    for name in OPTION_NAMES:
        default = getattr(DEFAULTS, name)
        detail = f"default: {default}" if default is not None else ""
        yield Suggestion(f"{name}=", "option", start, offset, detail)
    if quoted:  # on the marker line of a block
        yield Suggestion("interface=", "option", start, offset, "an njrt.Interface")
        yield Suggestion("ahead=", "option", start, offset, "requests at the same time")
