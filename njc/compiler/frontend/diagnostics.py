"""The compiler's findings: each has a code, a place, a message and often a hint.

    mailbox.njpy:12:14: error[NJ201]: `quer` is not defined here
       12 |     Perform the <quer> with respect to <graph>.
          |                 ^^^^^^
          = help: did you mean `query`?

A `Diagnostic` is the user's mistake, reported together with all others; a bug in njc is a
traceback. The meaning of each code is a file in `njc/findings`. `# njc: ignore[NJ204]` above or
after the place silences a finding, if the program can still be compiled.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from njc.compiler.frontend.source import SourceFile

Severity = Literal["error", "warning", "hint"]
"""A hint is shown only on request: `njc check --hints`."""


@dataclass(frozen=True, slots=True, order=True)
class Diagnostic:
    """A finding. Lines and columns count from 1, columns in characters; the end is exclusive."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    code: str
    severity: Severity
    message: str
    hint: str | None = field(default=None, compare=False)


_FATAL = (
    "NJ001 NJ002 NJ003 NJ101 NJ102 NJ104 NJ105 NJ202 NJ206 NJ309 NJ401 NJ402 NJ403"
    " NJ404 NJ405 NJ406"
)
_ERRORS = "NJ106 NJ201 NJ207 NJ214"
_WARNINGS = (
    "NJ004 NJ103 NJ203 NJ204 NJ208 NJ209 NJ210 NJ211 NJ215 NJ217 NJ301 NJ302 NJ303 NJ305 NJ306"
)
_HINTS = "NJ304 NJ310"

FATAL = frozenset(_FATAL.split())
"""Errors that leave nothing to compile, so that `# njc: ignore` cannot silence them."""
SEVERITIES: Mapping[str, Severity] = {
    **dict.fromkeys((*FATAL, *_ERRORS.split()), "error"),
    **dict.fromkeys(_WARNINGS.split(), "warning"),
    **dict.fromkeys(_HINTS.split(), "hint"),
}
"""All codes. `njc/findings` has their meanings."""


def make_diagnostic(
    source: SourceFile,
    code: str,
    start: int,
    end: int,
    message: str,
    hint: str | None = None,
) -> Diagnostic:
    """Make the diagnostic for a range of offsets in the source text."""
    at = (*source.place(start), *source.place(max(end, start + 1)))
    severity = SEVERITIES[code]
    return Diagnostic(source.path, *at, code, severity, message, hint)


def render_diagnostic(diagnostic: Diagnostic, source: SourceFile | None = None) -> str:
    """Format a diagnostic for people: its place and message, the line with a caret, and a hint."""
    at = f"{diagnostic.path}:{diagnostic.line}:{diagnostic.column}"
    rows = [f"{at}: {diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}"]
    gutter = " " * max(5, len(str(diagnostic.line)))
    if source is not None and diagnostic.code != "NJ002":
        line, first = source.line(diagnostic.line).rstrip("\r\n"), diagnostic.column - 1
        end = diagnostic.end_column - 1 if diagnostic.end_line == diagnostic.line else len(line)
        start = max(0, first - _MOST_SHOWN // 2) if len(line) > _MOST_SHOWN else 0
        stop = start + _MOST_SHOWN
        lead, tail = "…" * (start > 0), "…" * (len(line) > stop)
        before, marked, after = (
            _CONTROL_CHARACTERS.sub(" ", line[slice(*part)])
            for part in ((start, first), (first, min(end, stop)), (min(end, stop), stop))
        )
        carets = "^" * max(1, sum(map(_count_cells, marked)))
        rows.append(f"{diagnostic.line:>5} | {lead}{before}{marked}{after}{tail}")
        rows.append(f"{gutter} | {_make_blanks(lead + before)}{carets}")
    if diagnostic.hint:
        rows.append(f"{gutter} = help: {diagnostic.hint}")
    return "\n".join(rows)


_MOST_SHOWN = 200
"""The most characters of a source line that are shown: a line may have thousands of findings."""
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")
"""Control characters that a terminal would obey; a tab is harmless."""


def _count_cells(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) == "Cf":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _make_blanks(text: str) -> str:
    """Return blanks as wide as `text`; tabs are kept, so that each is as wide as the one above."""
    return "".join("\t" if each == "\t" else " " * _count_cells(each) for each in text)
