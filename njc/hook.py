"""The import hook for development: imports `.njpy` modules and packages.

    import njc.hook
    njc.hook.install()
    import mailbox_triage           # finds mailbox_triage.njpy on sys.path, compiles it in memory

Tracebacks, pdb and coverage show the lines of the `.njpy` file. No bytecode is cached, and a compiled `.py`
beside the source is ignored.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.machinery import FileFinder, ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from njc.project.units import SUFFIX


def install() -> None:
    """Make `.njpy` files importable in this process; further calls have no effect."""
    if not any(isinstance(finder, NaturalFinder) for finder in sys.meta_path):
        # After the finders of built-in modules, before the finder of files.
        is_usual = PathFinder in sys.meta_path
        index = sys.meta_path.index(PathFinder) if is_usual else len(sys.meta_path)
        sys.meta_path.insert(index, NaturalFinder())


def uninstall() -> None:
    """Remove the hook; imported modules stay."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, NaturalFinder)]


class NaturalLoader(SourceFileLoader):
    """Loads one `.njpy` module like Python's loader, but compiles it."""

    def get_code(self, fullname: str) -> CodeType:
        """Compile the source; do not use bytecode, which may belong to a `.py` beside it."""
        from njc.project.build import load_code
        from njc.project.config import find_project

        path = self.get_filename(fullname)
        project = find_project(Path(path), os.environ)
        code, findings = load_code(Path(path), self.get_data(path), project)
        for finding in findings:
            diagnostic = finding.diagnostic
            text = f"{diagnostic.message} [{diagnostic.code}]"
            warnings.warn_explicit(text, SyntaxWarning, path, diagnostic.line)
        return code


class NaturalFinder:
    """Finds `.njpy` modules on sys.path and in packages."""

    def __init__(self) -> None:
        self._get_finder = cache(lambda entry: FileFinder(entry, (NaturalLoader, [SUFFIX])))

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module's `.njpy` file, unless an earlier entry of the path has the module."""
        # Python, too, ignores entries of other types, and a working directory that is gone.
        entries = [it for it in (sys.path if path is None else path) if isinstance(it, str)]
        for number, entry in enumerate(entries):
            spec = None
            with suppress(FileNotFoundError):
                spec = self._get_finder(entry or os.getcwd()).find_spec(fullname)
            if spec is not None and spec.loader is not None:
                spec.cached = None
                # Without entries PathFinder would search sys.path.
                earlier = PathFinder.find_spec(fullname, entries[:number]) if number else None
                return spec if earlier is None or earlier.loader is None else None
        return None

    def invalidate_caches(self) -> None:
        """Drop cached directory listings; called by `importlib.invalidate_caches`."""
        self._get_finder.cache_clear()
