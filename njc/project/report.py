"""The commands' output: findings in a format, and a one-line summary.

src/mail.njpy:12:14: error[NJ201]: `quer` is not defined here
   ...
1 error, 2 warnings in 3 files
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Literal, get_args

from njc.compiler.frontend.diagnostics import Diagnostic, render_diagnostic
from njc.project.build import Finding

ReportFormat = Literal["text", "json", "github"]
REPORT_FORMATS: tuple[ReportFormat, ...] = get_args(ReportFormat)


def format_findings(findings: Sequence[Finding], format: ReportFormat) -> str:
    """Format findings; formats other than `text` are for programs, and never empty."""
    if format == "text":
        return "\n\n".join(render_diagnostic(each.diagnostic, each.source) for each in findings)
    write = {"json": format_json, "github": format_github}[format]
    return write([finding.diagnostic for finding in findings])


def summarize_findings(findings: Sequence[Finding], files: int) -> str:
    """Count the findings and the files."""
    if not findings:
        return f"{format_count(files, 'file')}, nothing found"
    kinds = Counter(finding.diagnostic.severity for finding in findings)
    counts = [format_count(kinds[it], it) for it in ("error", "warning", "hint") if kinds[it]]
    return f"{', '.join(counts)} in {format_count(files, 'file')}"


def format_count(number: int, noun: str) -> str:
    """Format a number with its noun: `1 file`, `1,200 files`, `2 replies`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun[:-1]}ies" if noun.endswith("y") else f"{number:,} {noun}s"


def format_text_table(
    headings: Sequence[str], lines: Sequence[Sequence[str]], labels: Collection[int] = (0,)
) -> str:
    """Lay out a table: the columns at `labels` are left-aligned, numbers are right-aligned."""
    widths = [max(map(len, column)) for column in zip(headings, *lines, strict=True)]
    rules = ["-" * width for width in widths]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column in labels else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in (headings, rules, *lines)
    )


# ── findings for other programs ───────────────────────────────────────────────────────────────────


def format_json(diagnostics: Sequence[Diagnostic]) -> str:
    """Format findings as a JSON list, one object each."""
    return json.dumps(list(map(asdict, diagnostics)), indent=2)


def format_github(diagnostics: Sequence[Diagnostic]) -> str:
    """Format findings as workflow commands, which GitHub shows at a pull request's lines."""
    return "\n".join(map(_format_annotation, diagnostics))


def _format_annotation(diagnostic: Diagnostic) -> str:
    place = {
        "file": diagnostic.path,
        "line": diagnostic.line,
        "endLine": diagnostic.end_line,
        "col": diagnostic.column,
        "endColumn": diagnostic.end_column,
        "title": diagnostic.code,
    }
    if diagnostic.end_line != diagnostic.line:
        del place["col"], place["endColumn"]
    properties = ",".join(f"{name}={_escape_property(str(value))}" for name, value in place.items())
    message = diagnostic.message + (f"\n{diagnostic.hint}" if diagnostic.hint else "")
    level = "notice" if diagnostic.severity == "hint" else diagnostic.severity
    return f"::{level} {properties}::{_escape_message(message)}"


def _escape_message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_message(text).replace(":", "%3A").replace(",", "%2C")
