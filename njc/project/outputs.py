"""Compiled files on disk: their state, obstacles to replacing them, and writing many together.

    out/mail.py                                          read_existing_file(...).state
    (no such file)                                       "absent"
    # compiled by njc ... and as njc wrote it            "compiled"
    # compiled by njc ... but changed since              "edited"
    # anything else                                      "foreign"

Without `--force` only absent and compiled files are written or removed. Line ends do not count as a
change.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal, assert_never

from njc.compiler.codegen.header import FileHeader, is_intact, parse_header
from njc.project.units import explaining_failure, format_path, read_header, walk_files
from njrt.data.private_files import name_temporary
from njrt.data.records import record
from njrt.errors import ConfigurationError

OutputState = Literal["absent", "compiled", "edited", "foreign"]

STUB_SUFFIX = ".pyi"
_TEMPORARY_NAME = re.compile(r"\..+\.(?:pyi?|njpy|lock|lock\.new)\.\d+(?:\.[0-9a-f]{8,14})?\.tmp")
"""A temporary file before its rename, with the id of its writer's process."""
LEFTOVER_SECONDS = 3600


@record
class ExistingFile:
    """The file at a compiled file's path."""

    state: OutputState
    data: bytes = b""
    header: FileHeader | None = None


def read_existing_file(output: Path) -> ExistingFile:
    """Read the file at `output`."""
    try:
        if not stat.S_ISREG(output.stat().st_mode):
            raise OSError(0, "not a regular file")
        data = output.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return ExistingFile("absent")
    except OSError as error:
        raise _make_write_error(output, error) from None
    header = parse_header(data)
    if header is None:
        return ExistingFile("foreign", data)
    return ExistingFile("compiled" if is_intact(data) else "edited", data, header)


def find_overwrite_obstacle(output: Path, state: OutputState) -> str | None:
    """Return why the file at `output` must not be replaced and what to do about it, or None."""
    match state:
        case "absent" | "compiled":
            return None
        case "edited":
            ways = "move the edit into its source, or discard it with --force"
            return f"{format_path(output)} was compiled by njc and then edited by hand; {ways}"
        case "foreign":
            ways = "move it away, choose another directory with -o, or overwrite it with --force"
            return f"{format_path(output)} was not written by njc and would be overwritten; {ways}"
        case _:
            assert_never(state)


def find_stale_outputs(roots_of: Mapping[Path, Collection[Path]]) -> tuple[Path, ...]:
    """Find compiled files without a source, and stubs, which njc 0.2 wrote.

    `roots_of` maps directories to their source roots.
    """
    return tuple(
        file
        for folder, roots in sorted(roots_of.items())
        for file, header in find_compiled_files(folder)
        if file.suffix == STUB_SUFFIX
        or not any(_has_source(file.relative_to(folder), header, root, folder) for root in roots)
    )


def _has_source(file: Path, header: FileHeader, root: Path, folder: Path) -> bool:
    """Return whether `root` contains a source for a compiled file in `folder`."""
    suffix = Path(header.path).suffix
    place = file.with_suffix(suffix)
    if (root / place).exists() or (root / header.path).exists():
        return True
    if root != folder or place.as_posix() == header.path:
        return False
    # In place, another output directory and its source root may be below this one.
    return any(each.as_posix().endswith(f"/{header.path}") for each in walk_files(root, suffix))


def find_compiled_files(folder: Path) -> Iterator[tuple[Path, FileHeader]]:
    """Find files in a directory that have njc's header, in a fixed order: first code, then stubs.

    Links to directories are not followed: they may lead to the compiled files of another project.
    """
    for suffix in (".py", STUB_SUFFIX) if folder.is_dir() else ():
        for file in walk_files(folder, suffix, follows_links=False):
            if header := read_header(file):
                yield file, header


def find_leftovers(folder: Path) -> Iterator[Path]:
    """Find the temporary files that killed builds have left: those that are older than an hour."""
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for file in (Path(parent, name) for name in names if _TEMPORARY_NAME.fullmatch(name)):
            with suppress(OSError):
                if time.time() - file.stat().st_mtime > LEFTOVER_SECONDS:
                    yield file


def write_all(contents: Mapping[Path, bytes], modes: Mapping[Path, int] | None = None) -> None:
    """Write all files or none: write each to a temporary file beside its path, then rename all.

    Raises ConfigurationError if a file cannot be written; if it is a temporary file, nothing has
    changed.
    """
    temporaries: dict[Path, Path] = {}
    made: list[Path] = []
    try:
        for output, data in contents.items():
            made += [folder for folder in output.parents if not folder.exists()][::-1]
            output.parent.mkdir(parents=True, exist_ok=True)
            temporaries[output] = temporary = name_temporary(output)
            temporary.write_bytes(data)
            if modes and output in modes:
                temporary.chmod(modes[output])
            if output.is_dir():
                raise IsADirectoryError(21, "is a directory")
        for output, temporary in temporaries.items():
            os.replace(temporary, output)
            made.clear()
    except OSError as error:
        raise _make_write_error(output, error) from None
    finally:
        for temporary in temporaries.values():
            with suppress(OSError):
                temporary.unlink()
        for folder in reversed(made):
            with suppress(OSError):
                folder.rmdir()


def rewrite_all(changes: Mapping[Path, tuple[bytes, bytes]]) -> None:
    """Write files like `write_all`, given bytes before and after; keep modes, and links to them.

    Also raises ConfigurationError if a file has been changed in the meantime.
    """
    for file, (before, _) in changes.items():
        if file.exists() and file.read_bytes() != before:
            problem = "was changed meanwhile; run the command again"
            raise ConfigurationError(f"{format_path(file)} {problem}")
    files = {file.resolve(): after for file, (_, after) in changes.items()}
    write_all(files, {file: file.stat().st_mode & 0o777 for file in files if file.exists()})


def check_output(file: Path, *inputs: Path) -> None:
    """Raise ConfigurationError if a file cannot be written or created, or is one of the inputs."""
    folder, name = file.absolute().parent, format_path(file)
    if not folder.is_dir():
        raise ConfigurationError(f"cannot write {name}: no such directory: {format_path(folder)}")
    place, problem = (file, "it") if file.exists() else (folder, "its directory")
    if not os.access(place, os.W_OK):
        raise ConfigurationError(f"cannot write {name}: {problem} is read-only")
    if file.exists() and any(it.exists() and file.samefile(it) for it in inputs):
        raise ConfigurationError(f"{name} is an input of this command; write to another file")


def check_page(file: Path, *inputs: Path) -> None:
    """Raise ConfigurationError if a page cannot be written, or would replace another file."""
    check_output(file, *inputs)
    head = file.read_bytes()[:1000] if file.is_file() else b""
    if head and b'name="generator" content="njc"' not in head:
        problem = "exists, and is not a report of njc; name another file"
        raise ConfigurationError(f"{format_path(file)} {problem}")


def remove_files(files: Iterable[Path], within: Iterable[Path]) -> None:
    """Remove files, and the directories inside `within` that become empty."""
    bounds = set(within)
    for file in files:
        with explaining_failure(f"remove {format_path(file)}"):
            file.unlink(missing_ok=True)
        with suppress(OSError):  # until the first directory that is not empty
            for folder in file.parents:
                if any(folder != bound and folder.is_relative_to(bound) for bound in bounds):
                    folder.rmdir()


def _make_write_error(output: Path, error: OSError) -> ConfigurationError:
    name, reason = format_path(output), (error.strerror or str(error)).lower()
    return ConfigurationError(f"cannot write {name}: {reason}; choose another directory")
