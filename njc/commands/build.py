"""`njc build src -o out`: compile `.njpy` files to `.py` files."""

from __future__ import annotations

import difflib
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from njc.commands.console import Console, Progress
from njc.commands.fill import filled, may_be_static
from njc.commands.flags import (
    ATTEMPTS,
    JOBS,
    MODE,
    OUT,
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
from njc.project.build import Build, Change, Finding, Written, build_of, write
from njc.project.outputs import stale_outputs
from njc.project.report import Format, counted, rendered, summed_up
from njc.project.units import output_folders, places_of, shown, units_of


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
@speaking
@pass_console
@click.pass_context
def command(
    ctx: click.Context,
    console: Console,
    /,
    sources: Sequence[Path],
    format: Format,
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
        project = project_for(sources, flags)
        units = units_of(sources, project)
        written: Written = {}
        if may_be_static(units, project):
            static = filled(
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
        progress = Progress(console, "compiling")
        build = build_of(units, project, force=force, jobs=jobs, progress=progress, written=written)
        _show_findings(console, build, format)
        if not build.may_be_written:
            return 1 if build.has_errors else 2
        if diff:
            console.result("".join(map(_difference, build.changes)).rstrip("\n"))
        elif not check:
            write(build)
        stale = stale_outputs(output_folders(places_of(sources, project), project))
        _show_work(console, build, stale, done=not (check or diff))
        return int(check and bool(build.changes or stale))

    if watch:
        repeatedly(console, once, sources or project_for(sources, flags).src)
    else:
        ctx.exit(once())


def _show_refusal(console: Console, found: Sequence[Finding], files: int, format: Format) -> None:
    """Show what stands in the way of static blocks, and nothing else."""
    _show(console, found, files, format)
    console.findings("nothing was written")


def _show(console: Console, found: Sequence[Finding], files: int, format: Format) -> None:
    if format == "text":
        console.findings(rendered(found, format))
        if found:
            console.findings(summed_up(found, files))
    else:
        console.result(rendered(found, format))


def _show_findings(console: Console, build: Build, format: Format) -> None:
    _show(console, build.findings, len(build.units), format)
    for obstacle in build.obstacles:
        console.findings(f"error: {obstacle}")
    if not build.may_be_written:
        console.findings("nothing was written")


def _show_work(console: Console, build: Build, stale: Iterable[Path], *, done: bool) -> None:
    """Say what was done, or would be."""
    did = "" if done else "would be "
    for change in build.changes:
        console.detail(f"{change.unit.shown} -> {shown(change.unit.output)}")
    unchanged = len(build.units) - len(build.changes)
    parts = [f"{counted(len(build.changes), 'file')} {did}compiled"] * bool(build.changes)
    parts += [f"{unchanged} up to date"] * bool(unchanged)
    console.note(", ".join(parts))
    for file in stale:
        console.note(f"stale: {shown(file)} has no source any more; `njc clean` removes it")


def _difference(change: Change) -> str:
    """Write a change as a unified diff."""
    before, after = (
        io.StringIO(data.decode(errors="replace")).readlines()
        for data in (change.before, change.after)
    )
    path = shown(change.unit.output)
    return "".join(difflib.unified_diff(before, after, f"a/{path}", f"b/{path}"))
