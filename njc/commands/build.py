"""`njc build src -o out`: compile `.njpy` files to `.py` files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from njc.commands.terminal.console import Console
from njc.commands.terminal.flags import (
    ATTEMPTS,
    JOBS,
    MODE,
    OPEN_EXIT_CODE,
    OUT,
    OUTPUT_FORMAT,
    SOURCES,
    WRITER,
    WRITER_NAME,
    project_flags,
    refuse_options,
    resolve_project,
    with_console,
)
from njc.compiler.frontend.parse import can_be_static
from njc.project.build import (
    BuildPlan,
    Compilations,
    Finding,
    plan_build,
    read_source,
)
from njc.project.config import Project
from njc.project.outputs import (
    find_leftovers,
    find_overwrite_obstacle,
    find_stale_outputs,
    read_existing_file,
    remove_files,
)
from njc.project.report import (
    ReportFormat,
    format_count,
    format_findings,
    summarize_findings,
)
from njc.project.units import (
    Unit,
    choose_places,
    find_package_files,
    find_units,
    format_path,
    list_output_folders,
)
from njrt.errors import ConfigurationError

if TYPE_CHECKING:
    from njc.static.build import StaticBuild


@click.command("build")
@SOURCES
@OUT
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if out of date.")
@click.option("--force", is_flag=True, help="Build all; replace edited and foreign files.")
@click.option("--clean", is_flag=True, help="Only remove compiled files without a source.")
@MODE
@WRITER
@WRITER_NAME
@click.option(
    "--check-code",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Only check a writer's answer.",
)
@click.option("--locked", is_flag=True, help="Call no model; use njc.lock only.")
@click.option("--unreviewed", is_flag=True, help="With --locked: accept unsigned code.")
@ATTEMPTS
@JOBS
@OUTPUT_FORMAT
@project_flags
@with_console
def command(console: Console, sources: Sequence[Path], **flags: Any) -> int:
    """Compile each x.njpy to x.py; on an error, write nothing.

    SRC are files or directories (default: `src` of [tool.njc] in pyproject.toml).
    """
    if flags["clean"]:
        refuse_options("does nothing with --clean, which builds nothing", "mode", "locked")
        return _clean(console, sources, flags)
    if not flags["locked"]:
        refuse_options("needs --locked", "unreviewed")
    if flags["check_code"]:
        project = resolve_project(sources, flags)
        return _check_answer(console, flags["check_code"], sources, project)
    return _build(console, sources, flags)


def _build(console: Console, sources: Sequence[Path], flags: Mapping[str, Any]) -> int:
    format: ReportFormat = flags["format"]
    project = resolve_project(sources, flags)
    units = find_units(sources, project, notify=console.note)
    static = _fill_static_blocks(console, units, project, flags)
    if static is not None and static.findings:
        _show_findings(console, static.findings, len(units), format)
        console.findings("nothing was written")
        return 1
    compiled: Compilations = static.compiled if static else {}
    waiting = static.questions if static else {}
    built = [unit for unit in units if unit not in waiting]
    plan = plan_build(
        (*built, *find_package_files(units, project)),
        project,
        force=flags["force"],
        jobs=flags["jobs"],
        compiled=compiled,
    )
    _show_findings(console, plan.findings, len(units), format)
    for obstacle in plan.obstacles:
        console.findings(f"error: {obstacle}")
    if plan.has_errors or plan.obstacles:
        console.findings("nothing was written")
        return 1 if plan.has_errors or flags["check"] else 2
    if not flags["check"]:
        plan.write_changes()
    stale = find_stale_outputs(list_output_folders(choose_places(sources, project), project))
    _show_changes(console, plan, stale, dry_run=flags["check"])
    if static is not None:
        _show_live_blocks(console, units, project)
    for unit in waiting:
        console.note(f"not built, with open questions: {unit.display_path}")
    if waiting:
        return OPEN_EXIT_CODE
    return int(flags["check"] and bool(plan.changes or stale))


def _fill_static_blocks(
    console: Console, units: Sequence[Unit], project: Project, flags: Mapping[str, Any]
) -> StaticBuild | None:
    """Find or write the code of static blocks; return None if no source can have one."""
    if not any(can_be_static(read_source(it).data, project.options.mode) for it in units):
        return None
    from njc.static.build import HoleRequest
    from njc.static.write import fill_units

    request = HoleRequest(
        locked=flags["locked"] or flags["check"],
        wants_review=flags["locked"] and not flags["unreviewed"],
        attempts=flags["attempts"],
        writer_name=flags["writer_name"],
        notify=console.note,
    )
    static = fill_units(units, project, request)
    for note in static.notes:
        console.note(f"note: {note}")
    return static


def _show_live_blocks(console: Console, units: Sequence[Unit], project: Project) -> None:
    from njc.static.write import list_blocks_with_code

    if places := list_blocks_with_code(units, project):
        number = format_count(len(places), "block")
        console.note(f"{number} may run code of a model: {', '.join(places)}")


def _check_answer(console: Console, file: Path, sources: Sequence[Path], project: Project) -> int:
    """Check an answer in a writer's folder; it stays as it is."""
    from njc.static.folder import find_question, read_text
    from njc.static.write import find_static_files

    found, hole = find_question(file, find_static_files(find_units(sources, project), project))
    reasons = found.make_code_check(hole)(read_text(file))
    console.result("\n".join(f"- {reason}" for reason in reasons) or f"{hole.name}: accepted")
    return int(bool(reasons))


def _clean(console: Console, sources: Sequence[Path], flags: Mapping[str, Any]) -> int:
    """Remove compiled files without a source, except edited ones and those not written by njc."""
    project = resolve_project(sources, flags)
    places = choose_places(sources, project)
    if wrong := [place for place in places if not place.is_dir()]:
        raise ConfigurationError(f"{format_path(wrong[0])} is not a directory; name directories")
    folders = list_output_folders(places, project)
    chosen = find_stale_outputs(folders)
    found = {file: find_overwrite_obstacle(file, read_existing_file(file).state) for file in chosen}
    obstacles = {} if flags["force"] else {file: why for file, why in found.items() if why}
    removed = [file for file in chosen if file not in obstacles]
    removed += [file for folder in folders for file in find_leftovers(folder)]
    verb = "would be " if flags["check"] else ""
    if not verb:
        remove_files(removed, within=folders)
    for file in removed:
        console.print_detail(f"{format_path(file)} {verb}removed")
    for why in obstacles.values():
        console.findings(f"error: {why}")
    console.note(f"{format_count(len(removed), 'file')} {verb}removed")
    return 2 if obstacles else int(flags["check"] and bool(removed))


def _show_findings(
    console: Console, findings: Sequence[Finding], files: int, format: ReportFormat
) -> None:
    if format == "text":
        console.findings(format_findings(findings, format))
        console.findings(summarize_findings(findings, files) if findings else "")
    else:
        console.result(format_findings(findings, format))


def _show_changes(
    console: Console, plan: BuildPlan, stale: Iterable[Path], *, dry_run: bool
) -> None:
    verb = "would be " if dry_run else ""
    for change in plan.changes:
        console.print_detail(f"{change.unit.display_path} -> {format_path(change.unit.output)}")
    copied = sum(change.unit.is_copy for change in plan.changes)
    compiled = len(plan.changes) - copied
    unchanged = len(plan.units) - compiled - copied
    parts = [f"{format_count(compiled, 'file')} {verb}compiled"] * bool(compiled)
    parts += [f"{format_count(copied, 'file')} {verb}copied"] * bool(copied)
    parts += [f"{unchanged} up to date"] * bool(unchanged)
    console.note(", ".join(parts))
    for file in stale:
        console.note(
            f"stale: {format_path(file)} has no source any more; `njc build --clean` removes it"
        )
