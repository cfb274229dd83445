"""The comments that speak to the compiler: options for a file, and findings to be left unsaid.

# njc: model=openai/gpt-4.1, max_effects=20      before the first statement: for the whole file
# njc: ignore[NJ204]                             there: in the whole file
# njc: ignore[NJ204, NJ301]                      above a place, or behind it: at this place
# njc: ignore                                    every code that can be ignored
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from njc.frontend.diagnostics import CODES, Diagnostic, make_diagnostic
from njc.frontend.parse import Module
from njc.frontend.source import SourceFile
from njrt.options import Options, find_option_problem, parse_option

_COMMENT = re.compile(r"#[ \t]*njc:[ \t]*(?P<text>[^\r\n]*)")
_IGNORE = re.compile(r"ignore(?:\[(?P<codes>[\w, \t]*)\])?[ \t]*(?:#|\Z)")
_SETTING = re.compile(r"(?P<name>[\w-]+)[ \t]*=[ \t]*(?P<value>[^\s,]+)[ \t]*(?:,|[ \t]|\Z)")


@dataclass(frozen=True, slots=True)
class FileDirectives:
    """What the comments before the first statement say about the whole file."""

    options: Options
    ignored: frozenset[str]
    problems: tuple[Diagnostic, ...]


def read_file_directives(module: Module) -> FileDirectives:
    """Read the `# njc:` comments at the head of a file, and complain of those that come too late."""
    source = module.source
    body = module.tree.body
    first = body[0] if body else None
    lines = [node.lineno for node in (first, *getattr(first, "decorator_list", ())) if node]
    head = source.line_starts[min(lines) - 1] if lines else len(source.text)
    settings: dict[str, Any] = {}
    ignored: set[str] = set()
    problems: list[Diagnostic] = []
    for comment in _COMMENT.finditer(source.text, 0, head):
        codes = _parse_ignored_codes(comment["text"])
        if codes is not None:
            ignored |= codes
        else:
            problems += _read_settings(source, comment, settings)
    problems += _find_late_options(source, head)
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
        value = parse_option(name, setting["value"])
        if problem := find_option_problem(name, value):
            at = (comment.start("text") + setting.start(), comment.start("text") + setting.end())
            yield make_diagnostic(source, "NJ003", *at, problem)
        else:
            settings[name] = value
        position = setting.end()
        position += len(text[position:]) - len(text[position:].lstrip(" \t,"))


def _find_late_options(source: SourceFile, head: int) -> Iterator[Diagnostic]:
    """Find option comments on lines of their own after the first statement."""
    for comment in _COMMENT.finditer(source.text, head):
        line_start = source.line_starts[source.place(comment.start())[0] - 1]
        alone = not source.text[line_start : comment.start()].strip()
        if alone and _SETTING.match(comment["text"]):
            message = "an option comment counts only before the first statement"
            hint = 'move it up, or write the option on the block: `"""natural(key=value)`'
            yield make_diagnostic(source, "NJ004", comment.start(), comment.end(), message, hint)


def _parse_ignored_codes(text: str) -> set[str] | None:
    """Read `ignore` or `ignore[CODES]`; None where the comment says something else."""
    ignore = _IGNORE.match(text)
    if ignore is None:
        return None
    if ignore["codes"] is None:
        return set(CODES)
    return {code.strip().upper() for code in ignore["codes"].split(",")}


def filter_ignored(
    diagnostics: Iterable[Diagnostic],
    source: SourceFile,
    directives: FileDirectives,
    spans: Iterable[tuple[int, int]],
) -> Iterator[Diagnostic]:
    """Leave out what comments silence; `spans` are the lines of each block, which hold no comments."""
    within = {line: span for span in spans for line in range(span[0], span[1] + 1)}
    for diagnostic in diagnostics:
        first, last = within.get(diagnostic.line, (diagnostic.line, diagnostic.line))
        codes = directives.ignored | _find_codes_ignored_at(source, first, last)
        if CODES[diagnostic.code].fatal or diagnostic.code not in codes:
            yield diagnostic


def _find_codes_ignored_at(source: SourceFile, first: int, last: int) -> set[str]:
    """The codes ignored by the comment lines above line `first` and by the comment at the end of `last`."""
    codes: set[str] = set()
    above = first - 1
    while above >= 1 and (line := source.line(above).strip()).startswith("#"):
        if comment := _COMMENT.match(line):
            codes |= _parse_ignored_codes(comment["text"]) or set()
        above -= 1
    if comment := _COMMENT.search(source.line(last)):
        codes |= _parse_ignored_codes(comment["text"]) or set()
    return codes
