"""Run a command again whenever a source changes: `njc build --watch`, `njc check --watch`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from njc.commands.terminal.console import Console
from njc.project.config import find_project, list_project_files
from njc.project.units import SUFFIX, FileState, choose_places, read_file_state, read_header
from njrt.errors import NaturalError, require_packages

_DEBOUNCE_MILLISECONDS = 50
"""An editor may write a file in several steps; changes this close together count as one."""
_POLL_MILLISECONDS = 200
"""How often to check the project files, which are outside the watched directories."""


def watch_sources(
    console: Console,
    act: Callable[[], object],
    sources: Sequence[Path],
    suffixes: Sequence[str] = (SUFFIX,),
) -> NoReturn:
    """Call `act` as soon as sources are watched, and after each change to one or a project file.

    Errors are printed and do not end the watch, which KeyboardInterrupt ends.
    """
    start = sources[0] if sources else Path()
    while True:
        state, places, is_due = _read_project_state(start), sources, True
        with suppress(NaturalError):  # wrong settings, which `act` reports
            places = choose_places(sources, find_project(start, os.environ))
        for has_changes in _watch(places, suffixes):
            if _read_project_state(start) != state:
                break
            if is_due or has_changes:
                try:
                    act()
                except NaturalError as error:
                    console.error(error)
                is_due = False


def _watch(places: Sequence[Path], suffixes: Sequence[str]) -> Iterator[bool]:
    """Yield True after each change to a source, and False from time to time."""
    require_packages("--watch", "njpy[watch]", "watchfiles")
    import watchfiles

    def is_source(change: object, path: str) -> bool:
        """Return whether a change matters; compiled files matter only when they are gone."""
        return path.endswith(tuple(suffixes)) and read_header(Path(path)) is None

    # Editors often replace a file instead of writing to it, so its directory is watched.
    folders = {place if place.is_dir() else place.parent for place in places}
    while not folders:
        yield False
        time.sleep(_POLL_MILLISECONDS / 1000)
    changes = watchfiles.watch(
        *folders,
        watch_filter=is_source,
        step=_DEBOUNCE_MILLISECONDS,
        rust_timeout=_POLL_MILLISECONDS,
        yield_on_timeout=True,
    )
    yield from map(bool, changes)


def _read_project_state(start: Path) -> Sequence[FileState | None]:
    return [*map(read_file_state, list_project_files(start))]
