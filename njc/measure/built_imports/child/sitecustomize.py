"""Makes Python import a build, and say so; Python runs this if its folder is on PYTHONPATH.

    NJC_BUILD_IMPORTS=/tmp/y/build.json
        {"mark": "/tmp/y/imported", "files": [{"source": ..., "output": ...}]}

If a search for a module finds its source, the build is imported instead, and the file `mark` is
made; also if the program is a file of the build. Only the standard library is imported, because the
program's Python may not have njc. Another `sitecustomize` is imported first.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType

BUILD_VARIABLE = "NJC_BUILD_IMPORTS"
BLOCK_VARIABLE = "NJC_TRACE_BLOCK"


class BuildFinder:
    """Finds a build's modules by their sources and outputs."""

    def __init__(self, files: Sequence[Mapping[str, str]], mark: str) -> None:
        self._mark = mark
        self._outputs = {
            file[key]: file["output"] for file in files for key in ("source", "output")
        }
        self._names = {_name_module(file["source"]) for file in files}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: object = None
    ) -> ModuleSpec | None:
        """Find a module's output if its source is the first match on the path."""
        name = fullname.rpartition(".")[2]
        for entry in (sys.path if path is None else path) if name in self._names else ():
            if file := _find_file(fullname, os.path.join(entry or os.getcwd(), name)):
                if output := self._outputs.get(os.path.realpath(file)):
                    leave_mark(self._mark)
                    return _make_spec(fullname, output, file)
                return None
        return None


def _find_file(fullname: str, place: str) -> str:
    """Return a module's file in a folder on the path: a source, or else Python's own choice."""
    for source in (os.path.join(place, "__init__.njpy"), f"{place}.njpy"):
        if os.path.isfile(source):
            return source
    spec = PathFinder.find_spec(fullname, [os.path.dirname(place)])
    return spec.origin or "" if spec is not None and spec.loader is not None else ""


class _BuildLoader(SourceFileLoader):
    """Loads a compiled file without its bytecode, which may belong to an earlier build."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


def _name_module(file: str) -> str:
    folder, name = os.path.split(file)
    stem = os.path.splitext(name)[0]
    return os.path.basename(folder) if stem == "__init__" else stem


def _make_spec(fullname: str, output: str, found: str) -> ModuleSpec | None:
    """Make an output's spec; submodules are sought in the build first, then beside `found`."""
    folders = list(dict.fromkeys((os.path.dirname(output), os.path.dirname(found))))
    is_package = os.path.basename(output) == "__init__.py"
    spec = spec_from_file_location(
        fullname,
        output,
        loader=_BuildLoader(fullname, output),
        submodule_search_locations=folders if is_package else None,
    )
    if spec is not None:
        spec.cached = None
    return spec


def use_build(settings: str) -> None:
    """Import a build from now on, and leave a mark when a file of it is executed."""
    with open(settings, encoding="utf-8") as opened:
        build = json.load(opened)
    sys.meta_path.insert(0, BuildFinder(build["files"], build["mark"]))
    outputs = {file["output"] for file in build["files"]}
    if not outputs.isdisjoint(map(os.path.realpath, sys.orig_argv)):
        leave_mark(build["mark"])


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
    use_build(found)
    if block := os.environ.get(BLOCK_VARIABLE):
        with suppress(ImportError):  # a Python without njc
            from njc.measure.built_imports.block_recorder import record_block

            record_block(block)
