"""Compiled files on disk: what is there, whether it may be replaced, and replacing it all at once.

    out/mail.py                                          state_of(...)
    (no such file)                                       "absent"
    # Compiled by njc ... and as njc wrote it            "compiled"
    # Compiled by njc ... but changed since              "edited"
    # anything else                                      "foreign"

Only what is absent or compiled is ever written to or removed, unless the user insists.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, assert_never

from njc.codegen.header import FileHeader, is_intact, parse_header
from njc.project.units import SUFFIX, can_hold_sources, format_path
from njrt.errors import ConfigurationError

OutputState = Literal["absent", "compiled", "edited", "foreign"]


@dataclass(frozen=True, slots=True)
class ExistingFile:
    """What stands where a compiled file is to go."""

    state: OutputState
    data: bytes = b""
    header: FileHeader | None = None


def read_existing_file(output: Path) -> ExistingFile:
    """Look at the file at `output`."""
    try:
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
    """Say why the file at `output` must not be replaced and what to do about it, or None."""
    match state:
        case "absent" | "compiled":
            return None
        case "edited":
            return (
                f"{format_path(output)} was compiled by njc and then edited by hand; move the edit into "
                "its source, or discard it with --force"
            )
        case "foreign":
            return (
                f"{format_path(output)} was not written by njc and would be overwritten; "
                "move it away, choose another directory with -o, or overwrite it with --force"
            )
        case _:
            assert_never(state)


def find_stale_outputs(roots_of: Mapping[Path, Collection[Path]]) -> tuple[Path, ...]:
    """Find the compiled files whose source is gone; each folder of them is given with its source roots."""
    return tuple(
        file
        for folder, roots in sorted(roots_of.items())
        for file in find_compiled_files(folder)
        if not any((root / _make_source_path(file, folder)).exists() for root in roots)
    )


def find_compiled_files(folder: Path) -> Iterator[Path]:
    """Walk the files in a folder that carry our header, in a fixed order."""
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if can_hold_sources(Path(parent, name)))
        for name in sorted(files):
            if name.endswith(".py") and _has_header(Path(parent, name)):
                yield Path(parent, name)


def write_all(contents: Mapping[Path, bytes], modes: Mapping[Path, int] | None = None) -> None:
    """Write all files or none: first each beside its place, then all renamed into place.

    Raises ConfigurationError where the first half fails; then nothing has changed.
    """
    waiting: dict[Path, Path] = {}
    made: list[Path] = []
    try:
        for output, data in contents.items():
            made += _make_folders(output)
            temporary = output.with_name(f".{output.name}.{os.getpid()}.tmp")
            waiting[output] = temporary
            temporary.write_bytes(data)
            if modes and output in modes:
                temporary.chmod(modes[output])
            if output.is_dir():
                raise IsADirectoryError(21, "is a directory")
        for output in contents:
            os.replace(waiting.pop(output), output)
            made.clear()
    except OSError as error:
        raise _make_write_error(output, error) from None
    finally:
        for temporary in waiting.values():
            temporary.unlink(missing_ok=True)
        for folder in reversed(made):
            with suppress(OSError):
                folder.rmdir()


def remove_files(files: Iterable[Path], within: Iterable[Path]) -> None:
    """Remove files, and the directories inside `within` that this leaves empty."""
    bounds = set(within)
    for file in files:
        file.unlink(missing_ok=True)
        for folder in file.parents:
            if not any(folder != bound and folder.is_relative_to(bound) for bound in bounds):
                break
            try:
                folder.rmdir()
            except OSError:
                break


def _make_source_path(file: Path, folder: Path) -> Path:
    return file.relative_to(folder).with_suffix(SUFFIX)


def _has_header(file: Path) -> bool:
    """Look for the header at the head of a file, where it must be; most files end the look here."""
    try:
        with file.open("rb") as opened:
            return parse_header(opened.read(4096)) is not None
    except OSError:
        return False


def _make_folders(output: Path) -> list[Path]:
    """Make the directories above `output`, and return the new ones, outermost first."""
    missing = [folder for folder in output.parents if not folder.exists()]
    output.parent.mkdir(parents=True, exist_ok=True)
    return missing[::-1]


def _make_write_error(output: Path, error: OSError) -> ConfigurationError:
    reason = (error.strerror or str(error)).lower()
    return ConfigurationError(
        f"cannot write {format_path(output)}: {reason}; choose another directory with -o"
    )
