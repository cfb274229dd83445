"""`njc check src`: report everything that is wrong with natural code, and write nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from njc.commands.console import Console, Progress
from njc.commands.flags import (
    JOBS,
    OUTPUT_FORMAT,
    SOURCES,
    WATCH,
    pass_console,
    project_flags,
    project_for,
    selection_flags,
    speaking,
)
from njc.commands.repeat import repeatedly
from njc.project.build import compile_all, findings_in, is_error, source_of
from njc.project.report import Format, rendered, summed_up
from njc.project.units import units_of


@click.command("check")
@SOURCES
@JOBS
@WATCH
@OUTPUT_FORMAT
@selection_flags
@project_flags
@speaking
@pass_console
@click.pass_context
def command(
    ctx: click.Context,
    console: Console,
    /,
    sources: Sequence[Path],
    format: Format,
    jobs: int | None,
    watch: bool,
    **flags: Any,
) -> None:
    """Check natural code: every finding with its code and place; exit 1 if one is an error.

    SRC are files or directories, by default `src` of [tool.njc] in pyproject.toml.
    `njc explain CODE` says more about a code.
    """

    def once() -> int:
        project = project_for(sources, flags)
        units = units_of(sources, project)
        texts = {unit: source_of(unit) for unit in units}
        results = compile_all(texts, project, jobs, Progress(console, "checking"), thorough=True)
        findings = findings_in(results, project.warnings)
        if format != "text" or console.verbosity > -2:
            console.result(rendered(findings, format))
        console.note(summed_up(findings, len(units)))
        return int(any(map(is_error, findings)))

    if watch:
        repeatedly(console, once, sources or project_for(sources, flags).src)
    else:
        ctx.exit(once())
