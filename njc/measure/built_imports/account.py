"""The files of a build that a command imported, as recorded by the command's processes.

    environment = make_build_environment(build, out, folder)
    subprocess.run(words, env=environment)
    find_import_problem(build, folder)      "it executed src/mail.njpy in place of out/mail.py; ..."

A run measures the build if it executed at least one of the build's files unchanged, and no source
or other compiled form. Not detected: processes that do not inherit the environment, and `python
-I`, `-E` and `-S`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from njc.compiler.codegen.header import parse_header
from njc.project.units import Unit, format_path
from njrt.data.message_json import parse_json_lines
from njrt.data.records import asdict, record

_SETTINGS, _ACCOUNT = "build.json", "imports.jsonl"
_IN_PLACE_HINT = "import it by its name, or run `{out}/FILE.py`"
_NOTHING_HINT = (
    "have the command import them by name or run `{out}/FILE.py`, and keep PYTHONPATH and"
    " NJC_BUILD_IMPORTS in the environment of the processes that it starts, without `python -I`,"
    " `-E` or `-S`"
)


@record
class BuiltFile:
    """A file of a build."""

    path: str
    """The path of the file's source, relative to the source root."""
    source: Path
    output: Path
    source_digest: str
    """The source digest, as in the compiled file's header."""
    digest: str
    """The SHA-256 of the compiled file."""


def describe_build(units: Iterable[Unit]) -> tuple[BuiltFile, ...]:
    """Describe the compiled files written for these units."""
    build = []
    for unit in units:
        if not unit.is_copy:
            compiled = unit.output.read_bytes()
            header, digest = parse_header(compiled), hashlib.sha256(compiled).hexdigest()
            source, output = unit.source.resolve(), unit.output.resolve()
            of_source = header.digest if header else ""
            build.append(BuiltFile(unit.path, source, output, of_source, digest))
    return tuple(build)


def make_build_environment(build: Sequence[BuiltFile], out: Path, folder: Path) -> dict[str, str]:
    """Return an environment that imports the build in `out` and records the imports in `folder`."""
    account, settings = folder / _ACCOUNT, folder / _SETTINGS
    account.unlink(missing_ok=True)
    listed = {"account": account, "files": [asdict(file) for file in build]}
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


def find_import_problem(build: Sequence[BuiltFile], folder: Path) -> str:
    """Return the problem, with advice, if a command did not execute the build; or else ""."""
    account = folder / _ACCOUNT
    text = account.read_text(encoding="utf-8") if account.exists() else ""
    executed = list(parse_json_lines(text.splitlines()))
    digests = {str(file.output): file.digest for file in build}
    for line in executed:
        if line["output"] and line["digest"] != digests[line["output"]]:
            return _describe_replaced_file(line)
    if any(line["output"] for line in executed):
        return ""
    others = sorted({format_path(Path(line["file"])) for line in executed})
    found = f", but {' and '.join(others)} of the same name" if others else ""
    return f"it executed no compiled file{found}; {_NOTHING_HINT}"


def _describe_replaced_file(line: Mapping[str, str]) -> str:
    output, file = (format_path(Path(line[name])) for name in ("output", "file"))
    if output == file:
        return f"{output} was changed after it was built"
    return f"it executed {file} in place of {output}; {_IN_PLACE_HINT}"
