"""The sources to compile, each with its compiled file.

    njc build src -o out        Unit(source=src/shop/mail.njpy, path="shop/mail.njpy",
                                     output=out/shop/mail.py)

`path` is relative to the source root. Compiled files name their sources by `path`, so they do not
depend on the build directory.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path

from njc.compiler.codegen.header import FileHeader, parse_header
from njc.project.config import Project, make_absolute
from njrt.data.records import record
from njrt.errors import ConfigurationError

SUFFIX = ".njpy"
_SKIPPED_FOLDERS = ("__pycache__", "node_modules")


@record
class Unit:
    """A source file and its compiled file."""

    source: Path
    root: Path
    output: Path

    @property
    def path(self) -> str:
        """The source's path in its root, with forward slashes and non-UTF-8 bytes escaped."""
        path = self.source.relative_to(self.root).as_posix()
        return os.fsencode(path).decode(errors="backslashreplace")

    @property
    def display_path(self) -> str:
        """The source's path as a user would type it."""
        return format_path(self.source)

    @property
    def is_copy(self) -> bool:
        """Whether the source is a `.py` file, which is copied, not compiled."""
        return self.source.suffix == ".py"

    def refuse_hidden_source(self) -> None:
        """Raise ConfigurationError if a Python file not written by njc has the source's name."""
        beside = self.source.with_suffix(".py")
        if beside.is_file() and read_header(beside) is None:
            raise ConfigurationError(
                f"{self.display_path} and {format_path(beside)} beside it are the same module to an"
                " import; rename or remove one"
            )


def find_units(
    arguments: Sequence[Path],
    project: Project,
    *,
    writes: bool = True,
    notify: Callable[[str], None] = lambda note: None,
) -> tuple[Unit, ...]:
    """Return the sources at the arguments, or by default in the project, in a fixed order.

    Raises ConfigurationError if there are no sources and, for a command that `writes`, if two
    share an output or a Python file beside a source has its name. Broken links are skipped.
    """
    places = choose_places(arguments, project)
    found = [unit for place in places for unit in _find_units_at(place, project)]
    units: dict[Path, Unit] = {}  # for nested directories, the outer one counts
    for unit in sorted(found, key=lambda unit: unit.root, reverse=True):
        if unit.source.exists():
            units[unit.source] = unit
        else:
            notify(f"skipped {unit.display_path}: it is a link to a file that does not exist")
    if not units:
        raise ConfigurationError(
            "nothing is left to compile; loosen `include` and `exclude` of the project or the flags"
        )
    if writes:
        _refuse_shared_outputs(units.values())
    return tuple(units[source] for source in sorted(units))


def find_package_files(units: Iterable[Unit], project: Project) -> tuple[Unit, ...]:
    """Find other `.py` files in the units' packages, needed in the output directory for imports."""
    if project.out is None:
        return ()
    packages = {_find_package(unit): unit.root for unit in units}
    found = (
        _make_unit_in_root(file, root, project)
        for package, root in packages.items()
        if package is not None
        for file in walk_files(package, ".py")
        if is_selected(file, root, project)
        and file.exists()
        and not file.with_suffix(SUFFIX).exists()
        and read_header(file) is None
    )
    # In place, even through a link, they are already there.
    copies = (unit for unit in found if unit.output.resolve() != unit.source.resolve())
    return tuple(sorted(copies, key=lambda unit: unit.source))


def make_unit(file: Path, project: Project) -> Unit:
    """Describe a source file."""
    file = make_absolute(file)
    return _make_unit_in_root(file, find_source_root(file, project), project)


def choose_places(arguments: Sequence[Path], project: Project) -> tuple[Path, ...]:
    """Return the places to compile: the arguments, or by default the project's source roots."""
    places = tuple(arguments) or project.src
    if not places:
        raise ConfigurationError(
            "nothing to compile; name files or directories, "
            "or set `src` in [tool.njc] of pyproject.toml"
        )
    return places


def list_output_folders(places: Iterable[Path], project: Project) -> Mapping[Path, set[Path]]:
    """Return the directories for compiled files, each with its source roots.

    Only the directories in `places` count: a single file does not show what else belongs there.
    """
    folders: dict[Path, set[Path]] = {}
    for place in places:
        if place.is_dir():
            root = find_source_root(place, project)
            folders.setdefault(project.out or root, set()).add(root)
    return folders


def find_source_root(place: Path, project: Project) -> Path:
    """Return a file's or directory's source root: the project's, otherwise the directory itself."""
    place = make_absolute(place)
    for root in project.src:
        if place.is_relative_to(root):
            return root.parent if root.is_file() else root
    return place if place.is_dir() else place.parent


def format_path(path: Path) -> str:
    """Format a path as a user would type it: relative to the working directory if it is inside."""
    with suppress(ValueError, FileNotFoundError):  # it is elsewhere, or the folder was removed
        return path.relative_to(Path.cwd()).as_posix()
    return path.as_posix()


@contextmanager
def explaining_failure(action: str) -> Iterator[None]:
    """Turn an OSError into a ConfigurationError: `cannot read mail.njpy: Permission denied`."""
    try:
        yield
    except OSError as error:
        raise ConfigurationError(f"cannot {action}: {error.strerror or error}") from None


def read_file(file: Path) -> bytes:
    """Read a file; raise ConfigurationError if it is not a regular file: a FIFO would block."""
    with explaining_failure(f"read {format_path(file)}"):
        if not stat.S_ISREG(file.stat().st_mode):
            raise OSError(0, "not a regular file")
        return file.read_bytes()


FileState = tuple[int, int]
"""A file's modification time, in nanoseconds, and its size."""


def read_file_state(file: Path) -> FileState | None:
    """Return the state of a file; None if it does not exist."""
    try:
        status = file.stat()
    except (OSError, ValueError):  # a path with NUL
        return None
    return status.st_mtime_ns, status.st_size


def read_header(file: Path) -> FileHeader | None:
    """Read the header of a compiled file; None for any other file."""
    try:
        if not file.is_file():
            return None
        with file.open("rb") as opened:
            return parse_header(opened.read(4096))
    except OSError:
        return None


def walk_files(
    folder: Path, suffix: str, above: frozenset[str] = frozenset(), *, follows_links: bool = True
) -> Iterator[Path]:
    """Yield the files with this suffix in a directory, in a fixed order.

    Links to directories are followed unless `follows_links` is false, but not back into a directory
    `above`. Hidden files and directories, virtual environments and tools' folders are skipped.
    """
    real = os.path.realpath(folder)
    if real in above:
        return
    with explaining_failure(f"read {format_path(folder)}"), os.scandir(folder) as scan:
        entries = sorted(scan, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if os.path.isdir(entry.path):  # false for a link that is broken or points to itself
            is_walked = entry.name not in _SKIPPED_FOLDERS and (
                follows_links or not os.path.islink(entry.path)
            )
            if is_walked and not os.path.exists(os.path.join(entry.path, "pyvenv.cfg")):
                inner = above | {real}
                yield from walk_files(Path(entry.path), suffix, inner, follows_links=follows_links)
        elif entry.name.endswith(suffix):
            yield Path(entry.path)


def find_top_package(folder: Path, root: Path) -> Path | None:
    """Find the outermost package that a directory belongs to, up to its source root."""
    top = None
    while folder.is_relative_to(root) and any(
        (folder / f"__init__{suffix}").exists() for suffix in (".py", SUFFIX)
    ):
        top, folder = folder, folder.parent
    return top


def _find_package(unit: Unit) -> Path | None:
    """Find the outermost package with a source, even through folders without an `__init__`."""
    folder = unit.source.parent
    above = (it for it in folder.parents if it != unit.root and it.is_relative_to(unit.root))
    found = [find_top_package(each, unit.root) for each in (folder, *above)]
    return next(filter(None, reversed(found)), None)


def _find_units_at(place: Path, project: Project) -> list[Unit]:
    if not place.exists():
        setting = ", which is `src` of [tool.njc]" if place in project.src else ""
        raise ConfigurationError(f"no such file or directory: {format_path(place)}{setting}")
    is_folder = place.is_dir()
    if not is_folder and place.suffix != SUFFIX:
        raise ConfigurationError(
            f"{format_path(place)} is not a {SUFFIX} file; njc compiles only those:"
            f" rename a program with natural blocks to {place.stem}{SUFFIX}"
        )
    place = make_absolute(place)
    root = find_source_root(place, project)
    if not is_folder:
        return [_make_unit_in_root(place, root, project)]
    sources = list(walk_files(place, SUFFIX))
    if not sources:
        raise ConfigurationError(
            f"no {SUFFIX} file in {format_path(place)}; natural code lives in files named like "
            f"`program{SUFFIX}`"
        )
    return [
        _make_unit_in_root(source, root, project)
        for source in sources
        if is_selected(source, root, project)
    ]


def _make_unit_in_root(source: Path, root: Path, project: Project) -> Unit:
    path = source.relative_to(root)
    if not {"\n", "\r"}.isdisjoint(str(path)):  # compiled files name the path in a comment
        raise ConfigurationError(
            f"{str(path)!r}: a name with a line break cannot be compiled; rename it"
        )
    return Unit(source, root, (project.out or root) / path.with_suffix(".py"))


def is_selected(source: Path, root: Path, project: Project) -> bool:
    """Return whether the project's `include` and `exclude` select a source."""
    path = source.relative_to(root).as_posix()
    if project.include and not any(_is_pattern_match(path, pattern) for pattern in project.include):
        return False
    return not any(_is_pattern_match(path, pattern) for pattern in project.exclude)


def _is_pattern_match(path: str, pattern: str) -> bool:
    """Match a whole path or one of its parents or, if the pattern has no slash, any part of it."""
    pattern = pattern.rstrip("/")
    parts = path.split("/")
    if "/" not in pattern:
        return any(fnmatchcase(part, pattern) for part in parts)
    heads = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    forms = (pattern, re.sub(r"^(\.?|\*\*)/", "", pattern))
    return any(fnmatchcase(head, form) for head in heads for form in forms)


def _refuse_shared_outputs(units: Iterable[Unit]) -> None:
    real_folders: dict[Path, str] = {}
    units_by_output: dict[tuple[str, str], Unit] = {}
    for unit in units:
        if unit.source.with_suffix(".py") != unit.output:  # or the build refuses to overwrite it
            unit.refuse_hidden_source()
        folder = unit.output.parent
        real = real_folders.setdefault(folder, os.path.realpath(folder))
        other = units_by_output.setdefault((real, unit.output.name), unit)
        if other is not unit:
            raise ConfigurationError(
                f"{other.display_path} and {unit.display_path} would both become "
                f"{format_path(unit.output)}; rename or exclude one, or build them into different "
                "directories with -o"
            )
