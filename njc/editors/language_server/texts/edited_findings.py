"""The findings of a text while it is edited: of the text, and of an earlier version on unchanged lines.

analyze_always(source)                  the analysis, also of a text without blocks
carry_over(findings, before, after)     findings of `before`, where they are in `after`
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from njc.compiler import Analysis, analyze
from njc.frontend.diagnostics import Diagnostic
from njc.frontend.parse import parse
from njc.frontend.source import SourceFile


def analyze_always(source: SourceFile) -> Analysis:
    """Analyze a text, and parse it also if it has no natural blocks."""
    analysis = analyze(source)
    if analysis.module is not None or analysis.diagnostics:
        return analysis
    module = parse(source)
    if isinstance(module, Diagnostic):
        return replace(analysis, diagnostics=(module,))
    return replace(analysis, module=module)


def carry_over(findings: Iterable[Diagnostic], before: str, after: str) -> Iterator[Diagnostic]:
    """Yield the findings of an earlier version that are not on the lines that have changed since, where they are now."""
    start, at_end = find_change(before, after)
    first = before.count("\n", 0, start) + 1
    last = before.count("\n", 0, len(before) - at_end) + 1
    kept = [it for it in findings if it.end_line < first or it.line > last]
    yield from _shift_findings(kept, last, after.count("\n") - before.count("\n"))


def find_change(before: str, after: str) -> tuple[int, int]:
    """Return the number of equal characters at the start and at the end of two texts; they do not overlap."""
    most = min(len(before), len(after))
    start = _count_equal(most, lambda count: before[:count] != after[:count])
    return start, _count_equal(
        most - start, lambda n: before[len(before) - n :] != after[len(after) - n :]
    )


def _count_equal(most: int, differs: Callable[[int], bool]) -> int:
    """Return the largest number up to `most` of characters by which the texts do not differ."""
    return bisect_left(range(1, most + 1), True, key=differs)


def _shift_findings(findings: Iterable[Diagnostic], after: int, lines: int) -> Iterator[Diagnostic]:
    """Move the findings behind a line by so many lines."""
    for finding in findings:
        if lines and finding.line > after:
            line, end_line = finding.line + lines, finding.end_line + lines
            yield replace(finding, line=line, end_line=end_line)
        else:
            yield finding
