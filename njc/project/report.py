"""The output of the commands: findings in a format, and a summary in one line.

src/mail.njpy:12:14: error[NJ201]: `quer` is not defined here
   ...
1 error, 2 warnings in 3 files
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from difflib import unified_diff
from typing import Literal, assert_never, get_args

from njc.frontend.diagnostics import render_diagnostic
from njc.project.build import Finding, is_error
from njc.project.renderings import format_github, format_json, format_sarif

ReportFormat = Literal["text", "json", "github", "sarif"]
REPORT_FORMATS: tuple[ReportFormat, ...] = get_args(ReportFormat)


def format_findings(findings: Sequence[Finding], format: ReportFormat) -> str:
    """Write findings in a format; all but `text` are for programs and written even if empty."""
    diagnostics = [finding.diagnostic for finding in findings]
    match format:
        case "text":
            return "\n\n".join(
                render_diagnostic(finding.diagnostic, finding.source) for finding in findings
            )
        case "json":
            return format_json(diagnostics)
        case "github":
            return format_github(diagnostics)
        case "sarif":
            return format_sarif(diagnostics)
        case _:
            assert_never(format)


def summarize_findings(findings: Sequence[Finding], files: int) -> str:
    """Count the findings and the files."""
    errors = sum(map(is_error, findings))
    hints = sum(finding.diagnostic.severity == "hint" for finding in findings)
    warnings = len(findings) - errors - hints
    if not findings:
        return f"{format_count(files, 'file')}, nothing found"
    counts = [format_count(errors, "error")] * bool(errors)
    counts += [format_count(warnings, "warning")] * bool(warnings)
    counts += [format_count(hints, "hint")] * bool(hints)
    return f"{', '.join(counts)} in {format_count(files, 'file')}"


def format_diff(before: str, after: str, old_name: str, new_name: str) -> str:
    """Write the changes of a text as a unified diff, without the last end of a line."""
    old, new = (io.StringIO(text).readlines() for text in (before, after))
    found = unified_diff(old, new, old_name, new_name)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in found).rstrip("\n")


def format_count(number: int, noun: str) -> str:
    """Write a number with its noun: `1 file`, `1,200 files`, `2 replies`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun[:-1]}ies" if noun.endswith("y") else f"{number:,} {noun}s"
