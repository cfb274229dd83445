"""Whether a command imported a build, as its processes note.

    environment = make_build_environment(build, out, folder)
    subprocess.run(words, env=environment)
    find_import_problem(folder)             "it executed no compiled file; have the command ..."

A run measures the build if it executed at least one of the build's files. Not detected: what else
it executed, by a loader or as a program; files that the command changes; processes that do not
inherit the environment, and `python -I`, `-E` and `-S`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from njc.project.units import Unit
from njrt.data.records import asdict, record

_SETTINGS, _MARK = "build.json", "imported"
_HINT = (
    "have the command import them by name or run `{out}/FILE.py`, and keep PYTHONPATH and"
    " NJC_BUILD_IMPORTS in the environment of the processes that it starts, without `python -I`,"
    " `-E` or `-S`"
)


@record
class BuiltFile:
    """A file of a build."""

    source: Path
    output: Path


def describe_build(units: Iterable[Unit]) -> tuple[BuiltFile, ...]:
    """Describe the compiled files written for these units."""
    return tuple(
        BuiltFile(unit.source.resolve(), unit.output.resolve())
        for unit in units
        if not unit.is_copy
    )


def make_build_environment(build: Sequence[BuiltFile], out: Path, folder: Path) -> dict[str, str]:
    """Return an environment that imports the build in `out`, and notes it in `folder`."""
    mark, settings = folder / _MARK, folder / _SETTINGS
    mark.unlink(missing_ok=True)
    listed = {"mark": mark, "files": [asdict(file) for file in build]}
    settings.write_text(json.dumps(listed, default=str), encoding="utf-8")
    child = Path(__file__).parent / "child"
    paths = [str(child), str(out), os.environ.get("PYTHONPATH", "")]
    return {
        "NJC_RECORD": (
            "off"
        ),  # the pytest plugin would replay recordings instead of asking the model
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "NJC_BUILD_IMPORTS": str(settings),
    }


def find_import_problem(folder: Path) -> str:
    """Return the problem, with advice, if a command did not execute the build; or else ""."""
    return "" if (folder / _MARK).exists() else f"it executed no compiled file; {_HINT}"
