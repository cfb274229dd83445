"""Which sources to compile, and where each one's output goes.

    njc build src -o out        Unit(source=src/shop/mail.njpy, path="shop/mail.njpy",
                                     output=out/shop/mail.py)

`path` is relative to the source root: it is what compiled files say about where they come from, so
that no file depends on the place where it was built.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from njc.project.config import Project
from njrt.errors import ConfigurationError

SUFFIX = ".njpy"
_SKIPPED_FOLDERS = ("__pycache__", "node_modules")


@dataclass(frozen=True, slots=True)
class Unit:
    """One source file and its compiled file."""

    source: Path
    root: Path
    output: Path

    @property
    def path(self) -> str:
        """The source's path relative to its root, with forward slashes."""
        return self.source.relative_to(self.root).as_posix()

    @property
    def shown(self) -> str:
        """The source's path as a user would type it here."""
        return format_path(self.source)


def find_units(arguments: Sequence[Path], project: Project) -> tuple[Unit, ...]:
    """Find the sources that the arguments (or else the project) name, in a fixed order.

    Raises ConfigurationError where there is nothing to compile, or two sources share an output.
    """
    places = choose_places(arguments, project)
    units = {unit.source: unit for place in places for unit in _find_units_at(place, project)}
    if not units:
        raise ConfigurationError(
            "`include` and `exclude` leave nothing to compile; loosen them in [tool.njc] or in the flags"
        )
    _refuse_shared_outputs(units.values())
    return tuple(units[source] for source in sorted(units))


def make_unit(file: Path, project: Project) -> Unit:
    """Describe one source file."""
    file = file.absolute()
    return _make_unit_in_root(file, find_source_root(file, project), project)


def choose_places(arguments: Sequence[Path], project: Project) -> tuple[Path, ...]:
    """Return the files and directories that are meant: those that are named, or else the project's."""
    places = tuple(arguments) or project.src
    if not places:
        raise ConfigurationError(
            "nothing says what to compile; name files or directories, "
            "or set `src` in [tool.njc] of pyproject.toml"
        )
    return places


def list_output_folders(places: Iterable[Path], project: Project) -> Mapping[Path, set[Path]]:
    """Return the directories that hold compiled files, each with the roots of their sources.

    Only whole trees count: files named one by one say nothing about what else there should be.
    """
    folders: dict[Path, set[Path]] = {}
    for place in places:
        if not place.is_file():
            root = find_source_root(place, project)
            folders.setdefault(project.out or root, set()).add(root)
    return folders


def find_source_root(place: Path, project: Project) -> Path:
    """Return the source root of a file or directory: the project's, or what was named itself."""
    place = Path(os.path.normpath(place.absolute()))
    for root in project.src:
        if place.is_relative_to(root):
            return root
    return place.parent if place.is_file() else place


def format_path(path: Path) -> str:
    """Write a path as a user would type it here: relative to the working directory where it is inside."""
    here = Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else path.as_posix()


def can_hold_sources(folder: Path) -> bool:
    """Whether to look into a directory: not if it is hidden, made by a tool, or a virtual environment."""
    name = folder.name
    if name.startswith(".") or name in _SKIPPED_FOLDERS:
        return False
    return not (folder / "pyvenv.cfg").exists()


def _find_units_at(place: Path, project: Project) -> list[Unit]:
    if not place.exists():
        raise ConfigurationError(f"no such file or directory: {format_path(place)}")
    if place.is_file() and place.suffix != SUFFIX:
        raise ConfigurationError(
            f"{format_path(place)} is not a {SUFFIX} file; njc compiles only those"
        )
    place = Path(os.path.normpath(place.absolute()))
    root = find_source_root(place, project)
    if place.is_file():
        return [_make_unit_in_root(place, root, project)]
    sources = list(_find_sources(place))
    if not sources:
        raise ConfigurationError(
            f"no {SUFFIX} file in {format_path(place)}; natural code lives in files named like "
            f"`program{SUFFIX}`"
        )
    return [
        _make_unit_in_root(source, root, project)
        for source in sources
        if _is_selected(source, root, project)
    ]


def _make_unit_in_root(source: Path, root: Path, project: Project) -> Unit:
    base = project.out if project.out is not None else root
    return Unit(source, root, base / source.relative_to(root).with_suffix(".py"))


def _find_sources(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if can_hold_sources(Path(parent, name))]
        yield from (Path(parent, name) for name in files if name.endswith(SUFFIX))


def _is_selected(source: Path, root: Path, project: Project) -> bool:
    path = source.relative_to(root).as_posix()
    if project.include and not any(_is_pattern_match(path, pattern) for pattern in project.include):
        return False
    return not any(_is_pattern_match(path, pattern) for pattern in project.exclude)


def _is_pattern_match(path: str, pattern: str) -> bool:
    """Match a whole path or one of its parents, or, without a slash in the pattern, any part of it."""
    pattern = pattern.rstrip("/")
    parts = path.split("/")
    if "/" not in pattern:
        return any(fnmatchcase(part, pattern) for part in parts)
    heads = ("/".join(parts[:count]) for count in range(1, len(parts) + 1))
    return any(fnmatchcase(head, pattern) for head in heads)


def _refuse_shared_outputs(units: Iterable[Unit]) -> None:
    seen: dict[Path, Unit] = {}
    for unit in units:
        other = seen.setdefault(unit.output, unit)
        if other is not unit:
            raise ConfigurationError(
                f"{other.shown} and {unit.shown} would both become {format_path(unit.output)}; "
                "rename one, or build them into different directories with -o"
            )
