"""`njc check src`: report everything that is wrong with natural code, and write nothing."""

from __future__ import annotations

from collections.abc import Sequence
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
from njc.project.report import ReportFormat, format_findings, summarize_findings
from njc.project.units import find_units


@click.command("check")
@SOURCES
@JOBS
@WATCH
@OUTPUT_FORMAT
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
    format: ReportFormat,
    jobs: int | None,
    watch: bool,
    **flags: Any,
) -> None:
    """Check natural code: every finding with its code and place; exit 1 if one is an error.

    SRC are files or directories, by default `src` of [tool.njc] in pyproject.toml.
    `njc explain CODE` says more about a code.
    """

    def once() -> int:
        project = resolve_project(sources, flags)
        units = find_units(sources, project)
        texts = {unit: read_source(unit) for unit in units}
        results = compile_all(
            texts, project, jobs, ProgressLine(console, "checking"), thorough=True
        )
        findings = collect_findings(results, project.warnings)
        if format != "text" or console.verbosity > -2:
            console.result(format_findings(findings, format))
        console.note(summarize_findings(findings, len(units)))
        return int(any(map(is_error, findings)))

    if watch:
        watch_sources(console, once, sources or resolve_project(sources, flags).src)
    else:
        ctx.exit(once())
