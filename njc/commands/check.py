"""`njc check src`: report all findings in natural code, and write nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from njc.commands.console import Console, ProgressLine
from njc.commands.flags import (
    JOBS,
    OUTPUT_FORMAT,
    SOURCES,
    WATCH,
    console_flags,
    pass_console,
    project_flags,
    resolve_project,
    selection_flags,
)
from njc.commands.repeat import watch_sources
from njc.project.build import collect_findings, compile_all, is_error, read_source
from njc.project.report import format_findings, summarize_findings
from njc.project.units import find_units


@click.command("check")
@SOURCES
@JOBS
@WATCH
@OUTPUT_FORMAT
@click.option("--hints", is_flag=True, help="Report hints, too.")
@selection_flags
@project_flags
@console_flags
@pass_console
@click.pass_context
def command(
    ctx: click.Context,
    console: Console,
    /,
    sources: Sequence[Path],
    watch: bool,
    **flags: Any,
) -> None:
    """Report all findings; exit 1 if one is an error.

    SRC are files or directories (default: `src` of [tool.njc] in pyproject.toml).
    `njc explain CODE` describes a finding.
    """
    if watch:
        watch_sources(console, lambda: _check(console, sources, flags), sources)
    else:
        ctx.exit(_check(console, sources, flags))


def _check(console: Console, sources: Sequence[Path], flags: Mapping[str, Any]) -> int:
    """Check once; return the exit code."""
    project = resolve_project(sources, flags)
    units = find_units(sources, project)
    results = compile_all(
        {unit: read_source(unit) for unit in units},
        project,
        flags["jobs"],
        ProgressLine(console, "checking"),
        parse_always=True,
    )
    if flags["hints"]:
        results = [
            replace(result, diagnostics=(*result.diagnostics, *result.hints)) for result in results
        ]
    findings = collect_findings(results, project.warnings)
    if flags["format"] != "text" or console.verbosity > -2:
        console.result(format_findings(findings, flags["format"]))
    console.note(summarize_findings(findings, len(units)))
    return int(any(map(is_error, findings)))
