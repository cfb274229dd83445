"""Whether a command imported a build, as its processes note.

    environment = make_build_environment(units, out, folder)
    subprocess.run(words, env=environment)
    find_import_problem(folder)             "it executed no compiled file; have the command ..."

A run measures the build if it executed at least one of the build's files. Not detected: what else
it executed, by a loader or as a program; files that the command changes; processes that do not
inherit the environment, and `python -I`, `-E` and `-S`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from njc.project.units import Unit

_MARK = "imported"
_HINT = (
    "have the command import them by their names in the build or run `{out}/FILE.py`, and keep"
    " PYTHONPATH and NJC_BUILD_IMPORTS in the environment of the processes that it starts, without"
    " `python -I`, `-E` or `-S`"
)


def make_build_environment(units: Iterable[Unit], out: Path, folder: Path) -> dict[str, str]:
    """Return an environment that imports the units' build in `out`, and notes it in `folder`."""
    mark = folder / _MARK
    mark.unlink(missing_ok=True)
    files = [str(unit.output.resolve()) for unit in units if not unit.is_copy]
    build = {"out": str(out), "files": files, "mark": str(mark)}
    child = Path(__file__).parent / "child"
    paths = [str(child), str(out), os.environ.get("PYTHONPATH", "")]
    return {
        # The pytest plugin would replay recordings instead of asking the model.
        "NJC_RECORD": "off",
        # The bytecode of an earlier build in the same directory may be of other code.
        "PYTHONDONTWRITEBYTECODE": "1",
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "NJC_BUILD_IMPORTS": json.dumps(build),
    }


def find_import_problem(folder: Path) -> str:
    """Return the problem, with advice, if a command did not execute the build; or else ""."""
    return "" if (folder / _MARK).exists() else f"it executed no compiled file; {_HINT}"
