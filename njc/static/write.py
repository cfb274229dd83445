"""Static builds on disk: the sources with holes, and the lock file.

njc.lock stands beside pyproject.toml, otherwise in the source root.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from njc.compiler.analysis.authority import decide_authority
from njc.compiler.analysis.reviewed_mode import may_run_code
from njc.compiler.compiler import analyze
from njc.compiler.frontend.parse import can_set_mode
from njc.compiler.frontend.source import SourceFile
from njc.project.build import Compilations, Finding, plan_build, read_source
from njc.project.config import Project, get_lock_path
from njc.project.outputs import check_output, rewrite_all
from njc.project.units import Unit, find_package_files
from njc.static.build import HoleRequest, StaticBuild, fill_holes
from njc.static.fit import StaticFile, make_static_file
from njc.static.lock import LockEntry, StaticLock, format_lock, read_lock
from njrt.data.private_files import lock_folder
from njrt.errors import ConfigurationError


def find_static_files(units: Sequence[Unit], project: Project) -> list[StaticFile]:
    """Return the files with holes; raises ConfigurationError if the lock cannot distinguish two."""
    files: dict[str, StaticFile] = {}
    for unit in units:
        file = make_static_file(unit, read_source(unit), project.options)
        if file is not None and files.setdefault(unit.path, file) is not file:
            places = f"{files[unit.path].unit.display_path} and {unit.display_path}"
            raise ConfigurationError(f"{places} have one name in njc.lock, {unit.path}; rename one")
    return list(files.values())


def fill_units(
    units: Sequence[Unit],
    project: Project,
    request: HoleRequest | None = None,
    lock_file: Path | None = None,
) -> StaticBuild:
    """Fill the holes in all units, and save new code in the lock file (default: the project's)."""
    files = find_static_files(units, project)
    file = lock_file or get_lock_path(project, units[0].root)
    lock = read_lock(file) if files else StaticLock()
    request = keep_results(request or HoleRequest(), file)
    build = fill_holes(files, lock, request)
    moved = [entry for entry in build.used if (entry.name, entry.mode) not in lock.entries]
    if moved and not request.locked:
        request.keep(moved)
    return build


def list_blocks_with_code(units: Sequence[Unit], project: Project) -> list[str]:
    """Return where blocks in a `reviewed` project may run a model's code by their `mode="live"`."""
    found = []
    for unit in units:
        source = read_source(unit)
        if project.options.mode != "reviewed" or not can_set_mode(source.data):
            continue
        analysis = analyze(source)
        for block in analysis.blocks if not analysis.has_errors else ():
            authority = decide_authority(block, analysis.types, project.options)
            if block.options.mode == "live" and may_run_code(block, authority, project.options):
                found.append(f"{unit.display_path}:{block.line}")
    return found


def fill_sources(sources: Mapping[Unit, SourceFile], project: Project) -> StaticBuild:
    """Fill the holes in sources from the lock, without asking a model."""
    found = [make_static_file(unit, source, project.options) for unit, source in sources.items()]
    files = [file for file in found if file is not None]
    lock = read_lock(get_lock_path(project, files[0].unit.root)) if files else StaticLock()
    return fill_holes(files, lock, HoleRequest(locked=True))


def fill_locked(units: Sequence[Unit], project: Project) -> tuple[Compilations, Sequence[Finding]]:
    """Fill all holes from the lock, as `build --locked`; return the files, or findings."""
    static = fill_units(units, project, HoleRequest(locked=True, wants_review=True))
    return static.compiled, static.findings


def keep_results(request: HoleRequest, file: Path) -> HoleRequest:
    """Have new code saved in the lock, dated today."""

    def keep(entries: Sequence[LockEntry]) -> None:
        change_lock(file, lambda lock: lock.with_entries(entries))

    return replace(request, today=time.strftime("%Y-%m-%d"), keep=keep)


def write_static_build(
    units: Sequence[Unit], project: Project, static: StaticBuild
) -> tuple[Finding, ...]:
    """Write a build's compiled files and other package files; return the errors that stop it."""
    copies = find_package_files(units, project)
    plan = plan_build((*units, *copies), project, force=True, jobs=1, compiled=static.compiled)
    errors = tuple(finding for finding in plan.findings if finding.is_error)
    if not errors:
        plan.write_changes()
    return errors


def format_finding_messages(findings: Iterable[Finding]) -> str:
    """Return the places and messages of findings, on one line."""
    diagnostics = (finding.diagnostic for finding in findings)
    return "; ".join(f"{found.path}:{found.line}: {found.message}" for found in diagnostics)


def change_lock(file: Path, change: Callable[[StaticLock], StaticLock]) -> None:
    """Change the lock file as it is now; raise ConfigurationError if it cannot be written."""
    check_output(file)
    with lock_folder(file.parent):  # another process may do the same
        lock = read_lock(file)
        if (changed := change(lock)) != lock:
            old = file.read_bytes() if file.exists() else b""
            rewrite_all({file: (old, format_lock(changed).encode())})
