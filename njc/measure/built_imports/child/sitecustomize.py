"""Makes Python import a build and record imports; Python runs this if its folder is on PYTHONPATH.

    NJC_BUILD_IMPORTS=/tmp/y/build.json
        {"account": "/tmp/y/imports.jsonl", "files": [{"source": ..., "output": ...}]}

If a search for a module finds its source, or another file compiled from it, the build is imported
instead. Each executed file with a source's name adds a line to the account: the file, its digest,
and its output. Only the standard library is imported, because the program's Python may not have
njc. Another `sitecustomize` is imported first.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType
from typing import Any

BUILD_VARIABLE = "NJC_BUILD_IMPORTS"
BLOCK_VARIABLE = "NJC_TRACE_BLOCK"
_HEADER = re.compile(rb"# compiled by njc \S+ from ([^\r\n]+) \(sha256 ([0-9a-f]{16})")


class BuildFinder:
    """Finds a build's modules, and knows their sources, outputs and other compiled forms."""

    def __init__(self, files: Sequence[Mapping[str, str]]) -> None:
        self._files = files
        self._outputs = {
            file[key]: file["output"] for file in files for key in ("source", "output")
        }
        self._names = {_name_module(file["source"]) for file in files}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: object = None
    ) -> ModuleSpec | None:
        """Find a module's output if its source or compiled form is the first match on the path."""
        name = fullname.rpartition(".")[2]
        for entry in (sys.path if path is None else path) if name in self._names else ():
            if file := _find_file(fullname, os.path.join(entry or os.getcwd(), name)):
                output = self.find_output(file)
                return _make_spec(fullname, output, file) if output else None
        return None

    def find_output(self, file: str) -> str:
        """Return the output that a file is or is another form of; empty for any other file."""
        place = os.path.realpath(file)
        if place in self._outputs or _name_module(place) not in self._names:
            return self._outputs.get(place, "")
        with suppress(OSError), open(place, "rb") as opened:
            if found := _HEADER.search(opened.read(4096)):
                path, digest = (part.decode(errors="replace") for part in found.groups())
                for built in self._files:
                    if built["path"] == path or built["source_digest"] == digest:
                        return built["output"]
        return ""

    def describe_module(self, file: str) -> Mapping[str, str] | None:
        """Describe an executed file, if it has a source's name."""
        if _name_module(file) not in self._names:
            return None
        place = os.path.realpath(file)
        with open(place, "rb") as opened:
            digest = hashlib.sha256(opened.read()).hexdigest()
        return {"output": self.find_output(place), "file": place, "digest": digest}


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
    """Import a build from now on, and record each executed module of it in the account."""
    with open(settings, encoding="utf-8") as opened:
        build = json.load(opened)
    finder = BuildFinder(build["files"])

    @functools.cache
    def write(file: str) -> None:
        with suppress(OSError, ValueError):
            if line := finder.describe_module(file):
                with open(build["account"], "a", encoding="utf-8") as account:
                    account.write(json.dumps(line) + "\n")

    def observe(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "exec":
            code = arguments[0]
            if isinstance(code, CodeType) and code.co_name == "<module>":
                write(code.co_filename)

    sys.meta_path.insert(0, finder)
    sys.addaudithook(observe)


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
