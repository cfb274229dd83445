"""`njc check src`: report all findings in natural code without writing anything."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from njc.commands.terminal.console import Console, colorize
from njc.commands.terminal.flags import (
    JOBS,
    OUTPUT_FORMAT,
    SOURCES,
    project_flags,
    resolve_project,
    with_console,
)
from njc.compiler.frontend.parse import can_be_static
from njc.compiler.frontend.source import SourceFile
from njc.project.build import (
    Finding,
    collect_findings,
    compile_all,
    read_source,
)
from njc.project.config import Project, find_project
from njc.project.report import format_findings, summarize_findings
from njc.project.units import Unit, find_units


@click.command("check")
@SOURCES
@JOBS
@OUTPUT_FORMAT
@click.option("--hints", is_flag=True, help="Report hints, too.")
@project_flags
@with_console
def command(console: Console, sources: Sequence[Path], **flags: Any) -> int:
    """Report all findings; exit 1 if one is an error.

    SRC are files or directories (default: `src` of [tool.njc] in pyproject.toml, or else the
    working directory). `njc explain CODE` describes a finding.
    """
    if not sources and not find_project(Path.cwd(), os.environ).src:
        sources = [Path()]
    project = resolve_project(sources, flags)
    units = find_units(sources, project, writes=False, notify=console.note)
    for unit in units:
        unit.refuse_hidden_source()
    contents = {unit: read_source(unit) for unit in units}
    results = compile_all(
        contents,
        project,
        flags["jobs"],
        only_check=True,
        with_hints=flags["hints"],
    )
    if flags["hints"]:
        results = [replace(each, diagnostics=(*each.diagnostics, *each.hints)) for each in results]
    findings = (
        *collect_findings(results, project.warnings),
        *_find_code_problems(contents, project),
    )
    if flags["format"] != "text" or console.verbosity > -2:
        text = format_findings(findings, flags["format"])
        console.result(colorize(text) if flags["format"] == "text" else text)
    console.note(summarize_findings(findings, len(contents)))
    return int(any(finding.is_error for finding in findings))


def _find_code_problems(
    contents: Mapping[Unit, SourceFile], project: Project
) -> tuple[Finding, ...]:
    """Report static blocks whose code is not in njc.lock, as a locked build does."""
    if not any(can_be_static(it.data, project.options.mode) for it in contents.values()):
        return ()
    from njc.static.write import fill_sources

    return fill_sources(contents, project).findings
