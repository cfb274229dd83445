"""Run a command again whenever a source changes: `njc build --watch`, `njc check --watch`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NoReturn

from njc.commands.terminal.console import Console
from njc.project.config import find_project, list_project_files
from njc.project.units import (
    SUFFIX,
    FileState,
    choose_places,
    read_file_state,
    read_header,
    walk_files,
)
from njrt.errors import NaturalError, require_packages

_DEBOUNCE_MILLISECONDS = 50
"""An editor may write a file in several steps; changes this close together count as one."""
_POLL_MILLISECONDS = 500
"""How often to check the project files, which are outside the watched directories."""

SourceStates = Mapping[Path, FileState | None]
"""The states of sources; None for a source that does not exist."""


def watch_sources(
    console: Console,
    act: Callable[[], object],
    sources: Sequence[Path],
    suffixes: Sequence[str] = (SUFFIX,),
) -> NoReturn:
    """Call `act` now and after each change to a source or a project file, until KeyboardInterrupt.

    Errors are printed and do not end the watch.
    """
    start = sources[0] if sources else Path()

    def run_once() -> tuple[Sequence[Path], SourceStates]:
        """Act; return the places to watch, none for wrong settings, and their earlier sources."""
        before: SourceStates = {}
        try:
            before = _read_sources(sources, suffixes)
            places = choose_places(sources, find_project(start, os.environ))
            found = _read_sources(places, suffixes)
            act()
        except NaturalError as error:
            console.error(error)
            return sources, before
        return places, found

    state, (places, before) = _read_project_state(start), run_once()
    while True:
        found, is_begun = places, False
        for has_changes in _watch(places, suffixes):
            current = _read_project_state(start)
            # The watch does not report changes made before it starts.
            is_missed = not is_begun and _read_sources(places, suffixes) != before
            if has_changes or is_missed or current != state:
                state, (found, before) = current, run_once()
            is_begun = True
            if found != places:
                break
        places = found


def _watch(places: Sequence[Path], suffixes: Sequence[str]) -> Iterator[bool]:
    """Yield True after each change to a source, and False from time to time."""
    require_packages("--watch", "njpy[watch]", "watchfiles")
    import watchfiles

    # Editors often replace a file instead of writing to it, so its directory is watched.
    folders = {place if place.is_dir() else place.parent for place in places}
    while not folders:
        time.sleep(_POLL_MILLISECONDS / 1000)
        yield False
    changes = watchfiles.watch(
        *folders,
        watch_filter=lambda change, path: _is_source(Path(path), suffixes),
        step=_DEBOUNCE_MILLISECONDS,
        rust_timeout=_POLL_MILLISECONDS,
        yield_on_timeout=True,
    )
    yield from map(bool, changes)


def _is_source(file: Path, suffixes: Sequence[str]) -> bool:
    """Return whether a change to a file matters; compiled files matter only when they are gone."""
    return file.suffix in suffixes and read_header(file) is None


def _read_project_state(start: Path) -> Sequence[FileState | None]:
    return [*map(read_file_state, list_project_files(start))]


def _read_sources(places: Sequence[Path], suffixes: Sequence[str]) -> SourceStates:
    found: dict[Path, FileState | None] = {}
    for place in places:
        listed = (walk_files(place, suffix) for suffix in suffixes)
        files = chain(*listed) if place.is_dir() else [place]
        found |= {file: read_file_state(file) for file in files if _is_source(file, suffixes)}
    return found
