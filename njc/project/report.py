"""What the commands print: findings in the format that was asked for, and one line that sums up.

src/mail.njpy:12:14: error[NJ201]: `quer` is not defined here
   ...
1 error, 2 warnings in 3 files
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, assert_never, get_args

from njc.frontend.diagnostics import render
from njc.project.build import Finding, is_error
from njc.project.renderings import github, json, sarif

Format = Literal["text", "json", "github", "sarif"]
FORMATS: tuple[Format, ...] = get_args(Format)


def rendered(findings: Sequence[Finding], format: Format) -> str:
    """Write findings in a format; all but `text` are for programs, and are written even if empty."""
    diagnostics = [finding.diagnostic for finding in findings]
    match format:
        case "text":
            return "\n\n".join(render(each.diagnostic, each.source) for each in findings)
        case "json":
            return json(diagnostics)
        case "github":
            return github(diagnostics)
        case "sarif":
            return sarif(diagnostics)
        case _:
            assert_never(format)


def summed_up(findings: Sequence[Finding], files: int) -> str:
    """Sum up what was found in how many files."""
    errors = sum(map(is_error, findings))
    warnings = len(findings) - errors
    if not findings:
        return f"{counted(files, 'file')}, nothing found"
    counts = [counted(errors, "error")] * bool(errors)
    counts += [counted(warnings, "warning")] * bool(warnings)
    return f"{', '.join(counts)} in {counted(files, 'file')}"


def counted(number: int, noun: str) -> str:
    """Write a number with its noun: `1 file`, `2 files`."""
    return f"{number} {noun}" + "s" * (number != 1)
