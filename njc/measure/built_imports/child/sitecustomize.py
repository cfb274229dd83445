"""Makes Python import a build, and say so; Python runs this if its folder is on PYTHONPATH.

    NJC_BUILD_IMPORTS={"out": "/tmp/x", "files": ["/tmp/x/shop.py"], "mark": "/tmp/y/imported"}

A module of the build is imported from it, wherever else one of its name is found. When one of
`files` is executed, the file `mark` is made; also if the program is one of them. Only the standard
library is imported, because the program's Python may not have njc. Another `sitecustomize` is
imported first.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder

BUILD_VARIABLE = "NJC_BUILD_IMPORTS"
BLOCK_VARIABLE = "NJC_TRACE_BLOCK"


class BuildFinder:
    """Finds the modules in a build's directory by their full names."""

    def __init__(self, out: str, files: Collection[str], mark: str) -> None:
        self._out, self._files, self._mark = out, files, mark

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        """Find a module; parts of a namespace package may be elsewhere, so it is left to others."""
        folder = os.path.join(self._out, *fullname.split(".")[:-1])
        spec = PathFinder.find_spec(fullname, [folder])
        if spec is None or spec.loader is None:
            return None
        if os.path.realpath(spec.origin or "") in self._files:
            leave_mark(self._mark)
        return spec


def use_build(out: str, files: Collection[str], mark: str) -> None:
    """Import a build from now on, and leave a mark when a file of it is executed."""
    sys.meta_path.insert(0, BuildFinder(out, files, mark))
    if not set(files).isdisjoint(map(os.path.realpath, sys.orig_argv)):
        leave_mark(mark)


def leave_mark(file: str) -> None:
    """Make an empty file."""
    with suppress(OSError), open(file, "wb"):
        pass


def import_next() -> None:
    """Import the `sitecustomize` that this one hides, if any."""
    folder = os.path.dirname(os.path.realpath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.realpath(path or ".") != folder]
    this = sys.modules.pop("sitecustomize")
    with suppress(ModuleNotFoundError):
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    sys.modules.setdefault("sitecustomize", this)  # the import system looks it up


if found := os.environ.get(BUILD_VARIABLE):
    import_next()
    use_build(**json.loads(found))
    if block := os.environ.get(BLOCK_VARIABLE):
        with suppress(ImportError):  # a Python without njc
            from njc.measure.built_imports.block_recorder import record_block

            record_block(block)
