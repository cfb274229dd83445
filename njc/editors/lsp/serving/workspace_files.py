"""The files around an open document: its project, and the traces.

Read files are cached until they change. Without a project, only the files in the same folder are
used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby, islice
from pathlib import Path

from pygls.uris import to_fs_path

from njc.debug.trace_view.index import RunSummary, read_index
from njc.debug.trace_view.terminal import list_costs
from njc.project.config import Project, find_project
from njc.project.report import format_count
from njc.project.units import FileState, make_unit, read_file_state, walk_files
from njrt.errors import ConfigurationError

MAX_FILES = 2_000
MAX_BYTES = 20_000_000


class WorkspaceFiles:
    """Reads files and caches their contents (state: the files of runs)."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self._run_files: dict[Path, tuple[FileState, Mapping[str, str]]] = {}

    def find_project(self, file: Path) -> Project:
        """Return the settings for a file; raises ConfigurationError if they are wrong."""
        return find_project(file, self.environ)

    def get_unit_path(self, file: Path) -> str:
        """Return the path of a source relative to its source root, as compiled files name it."""
        try:
            return make_unit(file, self.find_project(file)).path
        except ConfigurationError:
            return file.name

    def read_costs(self, file: Path) -> dict[str, str]:
        """Return the costs of blocks by place, from a project's traces; newer ones come first."""
        costs: dict[str, str] = {}
        for other in self._list_run_files(file):
            costs |= self._read_run_file(other)
        return costs

    def _list_run_files(self, file: Path) -> list[Path]:
        """Return the project's JSON Lines files, oldest first."""
        found = {
            other: state
            for other in islice(self._walk(file, ".jsonl"), MAX_FILES)
            if (state := read_file_state(other)) is not None and state[1] <= MAX_BYTES
        }
        return sorted(found, key=lambda other: (found[other], other))

    def _read_run_file(self, file: Path) -> Mapping[str, str]:
        state = read_file_state(file)
        known = self._run_files.get(file)
        if state is None:
            return {}
        if known is None or known[0] != state:
            known = self._run_files[file] = (state, _read_costs(file))
        return known[1]

    def _walk(self, file: Path, suffix: str) -> Iterator[Path]:
        try:
            project = self.find_project(file)
            if project.file is not None:
                yield from walk_files(project.file.parent, suffix)
                return
        except ConfigurationError:
            pass
        places = (file.parent, file.parent / "recordings", file.parent / "traces")
        for folder in filter(Path.is_dir, places):
            yield from sorted(folder.glob(f"*{suffix}"))


def summarize_block(runs: Sequence[RunSummary]) -> str:
    """Return the total cost of a block's runs: `3 runs, 4 calls, 1,204 tokens, $0.0031`."""
    calls, errors = sum(run.calls for run in runs), sum(bool(run.error) for run in runs)
    parts = [format_count(len(runs), "run"), format_count(calls, "call"), *list_costs(runs)]
    return ", ".join(parts + [format_count(errors, "error")] * bool(errors))


def _read_costs(file: Path) -> dict[str, str]:
    """Return the costs of blocks in a trace; empty for other files."""
    if b'"event"' not in (read_file(file) or b"").partition(b"\n")[0][:200]:
        return {}
    with suppress(ConfigurationError):
        runs = sorted(read_index(file).runs, key=lambda run: run.place)
        by_place = groupby(runs, key=lambda run: run.place)
        return {place: summarize_block([*group]) for place, group in by_place}
    return {}


def read_file(file: Path) -> bytes | None:
    """Return a file's contents; None if it is too long, unreadable, or a pipe that would block."""
    with suppress(OSError):
        if file.is_file() and file.stat().st_size <= MAX_BYTES:
            return file.read_bytes()
    return None


def get_file(uri: str) -> Path | None:
    """Return a URI's file; None if it has none, as for `untitled:1` or a path that cannot exist."""
    try:
        path = to_fs_path(uri) if uri.startswith("file:") else None
    except ValueError:
        return None
    is_possible = path is not None and "\0" not in path and Path(path).name
    return Path(path) if path and is_possible else None
