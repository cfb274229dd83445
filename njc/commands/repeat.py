"""Doing a command again whenever a source changes: `njc build --watch`, `njc check --watch`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from njc.commands.console import Console
from njc.project.units import SUFFIX
from njrt.errors import ConfigurationError, NaturalError

_PROJECT_FILE = "pyproject.toml"
_DEBOUNCE_MILLISECONDS = 50
"""An editor may write a file in several steps; changes this close together count as one."""


def watch_sources(console: Console, act: Callable[[], object], places: Iterable[Path]) -> None:
    """Call `act` now, and after every change to a source under `places`, until interrupted.

    What is wrong with the project is shown, and the watch goes on: the next change may mend it.
    """
    try:
        import watchfiles
    except ImportError:
        raise ConfigurationError(
            '--watch needs watchfiles; run `pip install "njpy[watch]"`'
        ) from None
    _run_once(console, act)
    # Editors often replace a file instead of writing to it, so it is its directory that is watched.
    folders = {place if place.is_dir() else place.parent for place in places}
    changes = watchfiles.watch(
        *folders, watch_filter=_is_source, step=_DEBOUNCE_MILLISECONDS, raise_interrupt=False
    )
    for _ in changes:
        _run_once(console, act)


def _run_once(console: Console, act: Callable[[], object]) -> None:
    try:
        act()
    except NaturalError as error:
        console.error(error)


def _is_source(change: object, path: str) -> bool:
    return path.endswith(SUFFIX) or Path(path).name == _PROJECT_FILE
