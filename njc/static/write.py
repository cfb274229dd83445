"""Static builds on disk: the sources with holes, the lock file, the failed attempts.

njc.lock                                    beside pyproject.toml, otherwise in the source root
.njc_cache/attempts/mailbox.njpy-triage.md  a model's attempts, and why they were rejected
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from njc.compiler.analysis.authority import decide_authority
from njc.compiler.analysis.modes import may_run_code
from njc.compiler.compiler import analyze
from njc.compiler.frontend.parse import can_set_mode
from njc.compiler.frontend.source import SourceFile
from njc.project.build import Compilations, Finding, plan_build, read_source
from njc.project.config import Project, get_lock_path
from njc.project.outputs import check_output, rewrite_all, write_all
from njc.project.units import Unit, find_package_files, format_path
from njc.static.build import HoleRequest, StaticBuild, fill_holes
from njc.static.fit import StaticFile, make_static_file
from njc.static.generate import Generated, GenerationFailed
from njc.static.holes import Hole
from njc.static.lock import StaticLock, add_unwritten, format_lock, read_lock, transfer_changes
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
    request = keep_results(request or HoleRequest(), lock, file)
    build = fill_holes(files, lock, request)
    if build.lock != lock and not request.locked:
        request.keep(build.lock)
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


def find_locked_problems(
    sources: Mapping[Unit, SourceFile], project: Project
) -> tuple[Finding, ...]:
    """Return what a locked build of these sources reports about their static blocks."""
    found = [make_static_file(unit, source, project.options) for unit, source in sources.items()]
    if not (files := [file for file in found if file is not None]):
        return ()
    lock = read_lock(get_lock_path(project, files[0].unit.root))
    return fill_holes(files, lock, HoleRequest(locked=True)).findings


def fill_locked(units: Sequence[Unit], project: Project) -> tuple[Compilations, Sequence[Finding]]:
    """Fill all holes from the lock, as `build --locked`; return the files, or findings."""
    static = fill_units(units, project, HoleRequest(locked=True, wants_review=True))
    return static.compiled, static.findings


def keep_results(request: HoleRequest, lock: StaticLock, file: Path) -> HoleRequest:
    """Have new code saved in the lock, dated today, and attempts in files beside it."""
    return replace(
        request,
        today=lambda: time.strftime("%Y-%m-%d"),
        keep=lambda written: save_lock(add_unwritten(written, lock), lock, file),
        keep_attempts=lambda hole, result: keep_attempts(hole, result, file.parent),
    )


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


def save_lock(lock: StaticLock, before: StaticLock, file: Path) -> None:
    """Write the changes between two locks into the file, which may have changed in the meantime.

    Without changes, only check that the file can be written. Raises ConfigurationError if it
    cannot, or if it can no longer be read; the whole lock is then in `njc.lock.new` beside it.
    """
    check_output(file)
    with lock_folder(file.parent):  # another process may do the same
        try:
            current = read_lock(file)
        except ConfigurationError as error:
            aside = file.with_name(f"{file.name}.new")
            write_all({aside: format_lock(lock).encode()})
            raise ConfigurationError(f"{error}; the code written meanwhile is in {aside}") from None
        text = format_lock(transfer_changes(before, lock, current)).encode()
        old = file.read_bytes() if file.exists() else b""
        if lock != before and old != text:
            rewrite_all({file: (old, text)})


def keep_attempts(hole: Hole, result: Generated | GenerationFailed, folder: Path) -> str:
    """Write rejected attempts to a file and return its path; write nothing if there were none."""
    if not any(attempt.verdict for attempt in result.attempts):
        return ""
    name = re.sub(r"[^\w.]+", "-", hole.name).strip("-")
    file = folder / ".njc_cache" / "attempts" / f"{name}.md"
    write_all({file: render_attempts(hole, result).encode(errors="backslashreplace")})
    return format_path(file)


def render_attempts(hole: Hole, result: Generated | GenerationFailed) -> str:
    """Format a conversation's attempts as Markdown."""
    quoted = "\n".join(f"> {line}".rstrip() for line in hole.shown.split("\n"))
    parts = [f"# {hole.name} ({hole.mode})\n\n{quoted}"]
    for number, attempt in enumerate(result.attempts, 1):
        verdict = "\n".join(f"- {refusal}" for refusal in attempt.verdict) or "accepted"
        parts.append(f"## attempt {number}\n\n```python\n{attempt.code.rstrip()}\n```\n\n{verdict}")
    return "\n\n".join(parts) + "\n"
