"""A copy of a project for a type checker, in which natural code is replaced by what the checker reads.

    project/                         project/.njc_types/
        pyproject.toml                   pyproject.toml   a link
        typings/                         typings          a link
        src/shop/                        src/shop/
            mail.njpy                        mail.py      the rendered text
            prices.py                        prices.py    a link

The checker runs in the copy, so its configuration, stubs and virtual environment are found as they are found in the
project. The copy is kept, and a file that has not changed is not written again: the checker's cache stays valid.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from njc.editors.type_check.rendering import RenderedSource
from njc.project.units import read_header
from njrt.errors import ConfigurationError

MIRROR_NAME = ".njc_types"
_CONFIGURATION_FILES = (
    "pyproject.toml",
    "mypy.ini",
    ".mypy.ini",
    "setup.cfg",
    "pyrightconfig.json",
)
_UNLINKED_NAMES = (MIRROR_NAME, ".git", ".gitignore", ".mypy_cache", ".dmypy.json", "__pycache__")
"""What the copy does not share with the project."""


@dataclass(frozen=True, slots=True)
class Mirror:
    """A copy of a project, and the rendered files in it."""

    project: Path
    """The directory that is copied."""
    folder: Path
    files: Mapping[Path, RenderedSource]
    """By the path of the source."""

    def locate(self, path: Path) -> Path:
        """Return the path in the copy of a file or directory of the project."""
        place = self.folder / path.relative_to(self.project)
        return place.with_suffix(".py") if path in self.files else place

    def find_source(self, path: Path) -> Path:
        """Return the path in the project of a path in the copy; other paths are returned as they are."""
        if not path.is_relative_to(self.folder):
            return path
        own = self.project / path.relative_to(self.folder)
        natural = own.with_suffix(".njpy")
        return natural if own.suffix == ".py" and natural in self.files else own


def find_project_folder(start: Path) -> Path:
    """Find the directory whose files configure the checker: the nearest one with a configuration, or `start`."""
    for folder in (start, *start.parents):
        if any((folder / name).is_file() for name in _CONFIGURATION_FILES):
            return folder
        if (folder / ".git").exists():
            return folder
    return start


@contextmanager
def open_mirror(
    project: Path, files: Mapping[Path, RenderedSource], ignored: Iterable[Path]
) -> Iterator[Mirror]:
    """Make the copy of a project, or bring it up to date; `ignored` is left out of it.

    In a project that cannot be written to, the copy is temporary. Raises ConfigurationError if there is no
    place for it.
    """
    with ExitStack() as stack:
        folder = project / MIRROR_NAME
        try:
            if not _is_writable(folder):
                folder = Path(
                    stack.enter_context(TemporaryDirectory(prefix="njc-types-"))
                ).resolve()
            mirror = Mirror(project, folder, files)
            above = {parent for file in files for parent in file.parents}
            _update_folder(mirror, project, above, {*ignored})
            _write_file(folder / ".gitignore", b"*\n")
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise ConfigurationError(
                f"cannot write {error.filename or folder}, a copy for the type checker: {reason}"
            ) from None
        yield mirror


def _is_writable(folder: Path) -> bool:
    with suppress(OSError):
        folder.mkdir(exist_ok=True)
        return os.access(folder, os.W_OK)
    return False


def _update_folder(mirror: Mirror, folder: Path, above: set[Path], ignored: set[Path]) -> None:
    """Fill a directory of the copy; only directories `above` a rendered file are not links."""
    copy = mirror.folder / folder.relative_to(mirror.project)
    if copy.is_symlink():
        copy.unlink()
    copy.mkdir(parents=True, exist_ok=True)
    rendered = {
        file.with_suffix(".py").name: file for file in mirror.files if file.parent == folder
    }
    expected = {*rendered, ".gitignore"}
    for name, file in rendered.items():
        _write_file(copy / name, mirror.files[file].rendered.data)
    with os.scandir(folder) as scan:
        entries = sorted(scan, key=lambda entry: entry.name)
    for entry in entries:
        path = Path(entry.path)
        if entry.name in _UNLINKED_NAMES or entry.name in rendered or path in ignored:
            continue
        if path.suffix == ".pyi" and path.with_suffix(".py").name in rendered and read_header(path):
            continue
        expected.add(entry.name)
        if path in above and entry.is_dir():
            _update_folder(mirror, path, above, ignored)
        elif path not in mirror.files:
            _link(copy / entry.name, path)
    _remove_others(copy, expected)


def _write_file(place: Path, data: bytes) -> None:
    """Write a file unless it holds the same bytes."""
    if place.is_symlink():
        place.unlink()
    with suppress(OSError):
        if place.read_bytes() == data:
            return
    temporary = place.with_name(f".{place.name}.{os.getpid()}.tmp")
    temporary.write_bytes(data)
    os.replace(temporary, place)


def _link(place: Path, target: Path) -> None:
    if place.is_symlink() and os.readlink(place) == str(target):
        return
    _remove(place)
    with suppress(FileExistsError):  # another process made it
        place.symlink_to(target, target_is_directory=target.is_dir())


def _remove_others(copy: Path, expected: set[str]) -> None:
    """Remove what has no counterpart in the project; hidden files are the checker's."""
    for entry in list(os.scandir(copy)):
        if entry.name not in expected and not entry.name.startswith("."):
            _remove(Path(entry.path))


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)
