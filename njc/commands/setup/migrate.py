"""`njc migrate SRC`: convert programs written for nightjarpy to `.njpy` files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from njc.commands.terminal.console import Console
from njc.commands.terminal.flags import OUT, PATH, with_console
from njc.frontend.diagnostics import render_diagnostic
from njc.frontend.source import SourceFile
from njc.project.outputs import write_all
from njc.project.report import format_count, format_diff
from njc.project.units import SUFFIX, format_path, read_file, walk_files
from njrt.errors import ConfigurationError, require_packages

if TYPE_CHECKING:
    from njc.migrate.program import Migration


@click.command("migrate")
@click.argument("sources", nargs=-1, required=True, metavar="SRC...", type=PATH)
@OUT
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if a file would change.")
@click.option("--diff", is_flag=True, help="Write nothing; show the changes to each file.")
@click.option("--force", is_flag=True, help=f"Overwrite existing {SUFFIX} files.")
@with_console
def command(
    console: Console,
    sources: Sequence[Path],
    out: Path | None,
    check: bool,
    diff: bool,
    force: bool,
) -> int:
    """Convert each x.py that uses nightjarpy to x.njpy.

    SRC are .py files or directories; the old files are kept. The exit code is 1 if something is left to do by
    hand.
    """
    require_packages("njc migrate", "njpy[static]", "libcst")
    from njc.migrate.gathering import Remark
    from njc.migrate.program import LeftAlone, migrate_program

    migrated: dict[Path, tuple[Path, Migration]] = {}
    to_do = False
    for file, target in _find_programs(sources, out):
        name = format_path(file)
        migration = migrate_program(SourceFile(name, read_file(file)), format_path(target))
        if isinstance(migration, Remark):
            console.findings(f"{name}:{migration.line}: {migration}")
            to_do = True
            continue
        if not isinstance(migration, LeftAlone):
            migrated[file] = target, migration
            continue
        for remark in migration.remarks:
            console.findings(f"{name}:{remark.line}: {remark}")
        if migration.remarks:
            to_do = True
            console.note(f"{name} has no natural code and is not changed")
    for file, (target, migration) in migrated.items():
        if diff:
            contents = read_file(file), migration.source.data
            before, after = (data.decode(errors="replace") for data in contents)
            names = f"a/{format_path(file)}", f"b/{format_path(target)}"
            console.result(format_diff(before, after, *names))
        _show_findings(console, file, target, migration)
    is_written = not (check or diff)
    if is_written:
        _write_targets(migrated, force)
    for file, (target, migration) in migrated.items():
        console.note(f"{format_path(file)} -> {format_path(target)}")
        remarks = (*migration.remarks, *migration.leftovers)
        to_do |= migration.compilation.output is None or any(it.is_open for it in remarks)
    would = "" if is_written else "would be "
    console.note(f"{format_count(len(migrated), 'file')} {would}migrated")
    if migrated and is_written:
        console.note("the old files are kept; remove them before you build in place")
    return int(to_do or (check and bool(migrated)))


def _find_programs(sources: Sequence[Path], out: Path | None) -> Iterator[tuple[Path, Path]]:
    """Find the programs that use nightjarpy, each with the file that it becomes."""
    from njc.migrate.gathering import NIGHTJARPY

    for source in sources:
        if not source.exists():
            raise ConfigurationError(f"no such file or directory: {format_path(source)}")
        if source.is_file() and source.suffix != ".py":
            raise ConfigurationError(
                f"{format_path(source)} is not a .py file; only those are migrated"
            )
        root = source.parent if source.is_file() else source
        for file in walk_files(source, ".py") if source.is_dir() else [source]:
            if NIGHTJARPY.encode() in read_file(file):
                yield file, (out or root) / file.relative_to(root).with_suffix(SUFFIX)


def _show_findings(console: Console, file: Path, target: Path, migration: Migration) -> None:
    for path, remarks in ((file, migration.remarks), (target, migration.leftovers)):
        for remark in remarks:
            console.findings(f"{format_path(path)}:{remark.line}: {remark}")
    for diagnostic in migration.compilation.diagnostics:
        console.findings(render_diagnostic(diagnostic, migration.source))


def _write_targets(migrated: Mapping[Path, tuple[Path, Migration]], force: bool) -> None:
    sources: dict[Path, Path] = {}
    for file, (target, _) in migrated.items():
        # `lexists`: a broken link also exists.
        if os.path.lexists(target) and not force:
            raise ConfigurationError(
                f"{format_path(target)} exists; overwrite it with --force, or choose another directory with -o"
            )
        other = sources.setdefault(target.resolve(), file)
        if other.resolve() != file.resolve():
            raise ConfigurationError(
                f"{format_path(other)} and {format_path(file)} would both become "
                f"{format_path(target)}; migrate them one by one, each with another -o"
            )
    write_all({target: migration.source.data for target, migration in migrated.values()})
