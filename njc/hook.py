"""The import hook for development: imports `.njpy` modules and packages.

    import njc.hook
    njc.hook.install()
    import mailbox_triage           # finds mailbox_triage.njpy on sys.path, compiles it in memory

Tracebacks, pdb and coverage show the lines of the `.njpy` file. No bytecode is cached, and a
compiled `.py` beside the source is ignored. Static blocks run their code in njc.lock.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.machinery import FileFinder, ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from njc.project.units import SUFFIX


def install() -> None:
    """Make `.njpy` files importable in this process; further calls have no effect."""
    if not any(isinstance(finder, NaturalFinder) for finder in sys.meta_path):
        # After the finders of built-in modules, before the file finder.
        is_usual = PathFinder in sys.meta_path
        index = sys.meta_path.index(PathFinder) if is_usual else len(sys.meta_path)
        sys.meta_path.insert(index, NaturalFinder())
        sys.path_hooks.insert(0, ProgramFinder)
        if "multiprocessing.spawn" in sys.modules:  # otherwise when it starts a process
            _install_in_children()


def uninstall() -> None:
    """Remove the hook; imported modules stay loaded."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, NaturalFinder)]
    sys.path_hooks[:] = [hook for hook in sys.path_hooks if hook is not ProgramFinder]
    sys.path_importer_cache.clear()


class NaturalLoader(SourceFileLoader):
    """Loads a `.njpy` module like Python's loader, but compiles it."""

    def get_code(self, fullname: str) -> CodeType:
        """Compile the source; ignore cached bytecode, which may be of a `.py` file beside it."""
        from njc.project.config import find_project
        from njc.static.load import load_code

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
        """Find a module's `.njpy` file, unless an earlier path entry has the module."""
        if fullname.startswith("multiprocessing.popen_"):
            _install_in_children()
        # Like Python, ignore entries of other types, and a deleted working directory.
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


class ProgramFinder(NaturalLoader):
    """Finds and loads `__main__` in a `.njpy` file, so that `runpy.run_path` compiles the file."""

    def __init__(self, entry: str) -> None:
        if not entry.endswith(SUFFIX) or not os.path.isfile(entry):
            raise ImportError(f"{entry} is not a {SUFFIX} file")
        super().__init__("__main__", entry)

    def find_spec(self, name: str, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the file, if `name` is `__main__`."""
        return spec_from_file_location(name, self.path, loader=self) if name == self.name else None


class _ChildData(dict[str, Any]):
    """The data for a process that `multiprocessing` starts; unpickling it installs the hook."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _install_and_return, (dict(self),)


def _install_and_return(data: dict[str, Any]) -> dict[str, Any]:
    install()
    return data


@cache  # once, for all start methods
def _install_in_children() -> None:
    from multiprocessing import spawn

    get_data: Any = spawn.get_preparation_data

    def get_child_data(name: str) -> dict[str, Any]:
        if ProgramFinder not in sys.path_hooks:  # after `uninstall`
            return dict(get_data(name))
        data, main = get_data(name), getattr(sys.modules["__main__"], "__file__", None) or ""
        if name == "ignore":  # the fork server gets no hook: each fork imports the program
            data.pop("init_main_from_path", None)
        elif data.get("init_main_from_name") == "__main__" and main.endswith(SUFFIX):
            del data["init_main_from_name"]  # for a child that is itself a parent
            data["init_main_from_path"] = main
        return _ChildData(data)

    spawn.get_preparation_data = get_child_data
