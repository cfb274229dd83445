"""`njc build src -o out`: compile `.njpy` files to `.py` files."""

from __future__ import annotations

import difflib
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from njc.commands.console import Console, ProgressLine
from njc.commands.fill import can_be_static, fill_and_report
from njc.commands.flags import (
    ATTEMPTS,
    JOBS,
    MODE,
    OUT,
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
from njc.project.build import (
    BuildPlan,
    Finding,
    OutputChange,
    WrittenBlocks,
    plan_build,
    write_changes,
)
from njc.project.outputs import find_stale_outputs
from njc.project.report import ReportFormat, format_count, format_findings, summarize_findings
from njc.project.units import choose_places, find_units, format_path, list_output_folders


@click.command("build")
@SOURCES
@OUT
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if anything is out of date.")
@click.option("--diff", is_flag=True, help="Write nothing; show what would change.")
@click.option(
    "--force", is_flag=True, help="Build all, over foreign and hand-edited compiled files too."
)
@MODE
@click.option("--locked", is_flag=True, help="Ask no model: static code comes from njc.lock.")
@click.option(
    "--unlearned", is_flag=True, help="Use no code that was learned from recorded runs: to compare."
)
@ATTEMPTS
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
    check: bool,
    diff: bool,
    force: bool,
    locked: bool,
    unlearned: bool,
    attempts: int,
    jobs: int | None,
    watch: bool,
    **flags: Any,
) -> None:
    """Compile natural code: each x.njpy to x.py, all of them or, if anything is wrong, none.

    SRC are files or directories, by default `src` of [tool.njc] in pyproject.toml.
    """

    def once() -> int:
        project = resolve_project(sources, flags)
        units = find_units(sources, project)
        written: WrittenBlocks = {}
        if can_be_static(units, project):
            static = fill_and_report(
                console,
                units,
                project,
                locked=locked or check or diff,
                learned=not unlearned,
                attempts=attempts,
                jobs=jobs,
            )
            if static.findings:
                _show_refusal(console, static.findings, len(units), format)
                return 1
            written = static.written
        progress = ProgressLine(console, "compiling")
        build = plan_build(
            units, project, force=force, jobs=jobs, progress=progress, written=written
        )
        _show_findings(console, build, format)
        if not build.can_write:
            return 1 if build.has_errors else 2
        if diff:
            console.result("".join(map(_make_diff, build.changes)).rstrip("\n"))
        elif not check:
            write_changes(build)
        stale = find_stale_outputs(list_output_folders(choose_places(sources, project), project))
        _show_work(console, build, stale, done=not (check or diff))
        return int(check and bool(build.changes or stale))

    if watch:
        watch_sources(console, once, sources or resolve_project(sources, flags).src)
    else:
        ctx.exit(once())


def _show_refusal(
    console: Console, found: Sequence[Finding], files: int, format: ReportFormat
) -> None:
    """Show what stands in the way of static blocks, and nothing else."""
    _show(console, found, files, format)
    console.findings("nothing was written")


def _show(console: Console, found: Sequence[Finding], files: int, format: ReportFormat) -> None:
    if format == "text":
        console.findings(format_findings(found, format))
        if found:
            console.findings(summarize_findings(found, files))
    else:
        console.result(format_findings(found, format))


def _show_findings(console: Console, build: BuildPlan, format: ReportFormat) -> None:
    _show(console, build.findings, len(build.units), format)
    for obstacle in build.obstacles:
        console.findings(f"error: {obstacle}")
    if not build.can_write:
        console.findings("nothing was written")


def _show_work(console: Console, build: BuildPlan, stale: Iterable[Path], *, done: bool) -> None:
    """Say what was done, or would be."""
    did = "" if done else "would be "
    for change in build.changes:
        console.print_detail(f"{change.unit.shown} -> {format_path(change.unit.output)}")
    unchanged = len(build.units) - len(build.changes)
    parts = [f"{format_count(len(build.changes), 'file')} {did}compiled"] * bool(build.changes)
    parts += [f"{unchanged} up to date"] * bool(unchanged)
    console.note(", ".join(parts))
    for file in stale:
        console.note(f"stale: {format_path(file)} has no source any more; `njc clean` removes it")


def _make_diff(change: OutputChange) -> str:
    """Write a change as a unified diff."""
    before, after = (
        io.StringIO(data.decode(errors="replace")).readlines()
        for data in (change.before, change.after)
    )
    path = format_path(change.unit.output)
    return "".join(difflib.unified_diff(before, after, f"a/{path}", f"b/{path}"))
