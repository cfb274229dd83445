"""Comments for the compiler: options for a file, and findings to ignore.

# njc: model=openai/gpt-4.1, max_effects=20      before the first statement: for the whole file
# njc: budget="usd=5 per=day"                    a value with blanks or commas has quotes
# njc: ignore[NJ204]                             there: in the whole file
# njc: ignore[NJ204, NJ301]                      above a place, or after it: at this place
# njc: ignore                                    every code that can be ignored
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any

from njc.compiler.frontend.blocks import NaturalBlock
from njc.compiler.frontend.diagnostics import FATAL, SEVERITIES, Diagnostic, make_diagnostic
from njc.compiler.frontend.name_resolution import find_first_line
from njc.compiler.frontend.parse import Module
from njc.compiler.frontend.source import SourceFile, find_string_tokens
from njrt.data.options import Options, find_option_problem, parse_option
from njrt.data.records import record

_COMMENT = re.compile(r"#[ \t]*njc:[ \t]*(?P<text>[^\r\n]*)")
_IGNORE = re.compile(r"ignore(?:\[(?P<codes>[\w, \t]*)\])?[ \t]*(?:#|\Z)")
_SETTING = re.compile(
    r"""(?P<name>[\w-]+)[ \t]*=[ \t]*"""
    r"""(?:(?P<quote>["'])(?P<text>.*?)(?P=quote)|(?P<value>[^\s,]+))[ \t]*(?:,|[ \t]|\Z)"""
)


@record
class FileDirectives:
    """The options and ignored codes in the comments before the first statement."""

    options: Options
    ignored: frozenset[str]
    problems: tuple[Diagnostic, ...]


NO_DIRECTIVES = FileDirectives(Options(), frozenset(), ())


def read_file_directives(module: Module) -> FileDirectives:
    """Read the `# njc:` comments at a file's head, and report comments below without effect."""
    source = module.source
    body = module.tree.body
    head = source.line_starts[find_first_line(body[0]) - 1] if body else len(source.text)
    settings: dict[str, Any] = {}
    ignored: set[str] = set()
    problems: list[Diagnostic] = []
    for comment in _COMMENT.finditer(source.text, 0, head):
        codes = _parse_ignored_codes(comment["text"])
        if codes is not None:
            ignored |= codes
        else:
            problems += _read_settings(source, comment, settings)
    problems += _find_late_comments(source, head)
    return FileDirectives(Options(**settings), frozenset(ignored), tuple(problems))


def _read_settings(
    source: SourceFile, comment: re.Match[str], settings: dict[str, Any]
) -> Iterator[Diagnostic]:
    text, position = comment["text"].rstrip(), 0
    while position < len(text):
        setting = _SETTING.match(text, position)
        if setting is None:
            at = (comment.start("text") + position, comment.start("text") + len(text))
            yield make_diagnostic(source, "NJ003", *at, "expected `key=value` or `ignore[CODE]`")
            return
        name = setting["name"]
        value = parse_option(name, setting["value"] or setting["text"])
        is_second = name in settings and f"option `{name}` is already set above"
        if problem := is_second or find_option_problem(name, value):
            at = (comment.start("text") + setting.start(), comment.start("text") + setting.end())
            yield make_diagnostic(source, "NJ003", *at, problem)
        else:
            settings[name] = value
        position = setting.end()
        position += len(text[position:]) - len(text[position:].lstrip(" \t,"))


def _find_late_comments(source: SourceFile, head: int) -> Iterator[Diagnostic]:
    """Find options after the first statement, where they have no effect."""
    found = [*_COMMENT.finditer(source.text, head)]
    strings = list(find_string_tokens(source.text)) if found else []
    for comment in found:
        after = bisect_right(strings, (comment.start(), 0)) - 1
        if after >= 0 and comment.start() < strings[after][1]:
            continue  # part of a string
        if _SETTING.match(comment["text"]):
            message = "an option comment counts only before the first statement"
            hint = 'move it up, or write the option on the block: `"""natural(key=value)`'
            yield make_diagnostic(source, "NJ004", comment.start(), comment.end(), message, hint)


def _parse_ignored_codes(text: str) -> set[str] | None:
    """Read `ignore` or `ignore[CODES]`; None for any other comment."""
    ignore = _IGNORE.match(text)
    if ignore is None:
        return None
    if ignore["codes"] is None:
        return SEVERITIES.keys() - FATAL
    return {code.strip().upper() for code in ignore["codes"].split(",")}


def filter_ignored(
    diagnostics: Iterable[Diagnostic],
    source: SourceFile,
    directives: FileDirectives,
    blocks: Iterable[NaturalBlock],
) -> Iterator[Diagnostic]:
    """Leave out silenced findings; a block's own lines have no comments."""
    within = {line: block for block in blocks for line in range(block.line, block.end_line + 1)}
    for diagnostic in diagnostics:
        place = within.get(diagnostic.line, diagnostic)
        codes = directives.ignored | _find_codes_ignored_at(source, place.line, place.end_line)
        if diagnostic.code in FATAL or diagnostic.code not in codes:
            yield diagnostic


def _find_codes_ignored_at(source: SourceFile, first: int, last: int) -> set[str]:
    """Return the codes ignored by the comments above line `first` and at the end of line `last`."""
    comments = [_COMMENT.search(source.line(last))]
    above = first - 1
    while above >= 1 and (line := source.line(above).strip()).startswith("#"):
        comments.append(_COMMENT.match(line))
        above -= 1
    return set[str]().union(
        *(_parse_ignored_codes(each["text"]) or () for each in comments if each)
    )
