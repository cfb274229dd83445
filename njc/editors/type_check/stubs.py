"""Stubs for compiled files: `.pyi` files with the types of the variables that natural code binds.

    total: int                    # from a block that binds <:total: int>
    def greet(name: str) -> str: ...

mypy's stubgen makes them from the rendered source; like compiled files, they have a header and a
digest.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from njc.codegen.header import format_closing_comment, format_header, make_header
from njc.compiler import analyze
from njc.editors.type_check.rendering import render_for_checker
from njc.frontend.source import SourceFile
from njc.project.build import OutputChange, read_source
from njc.project.config import Project
from njc.project.outputs import STUB_SUFFIX, find_overwrite_obstacle, read_existing_file
from njc.project.units import Unit
from njrt.errors import ConfigurationError, require_packages

_STUBGEN = "from mypy.stubgen import main; main()"
"""The module is compiled, so `python -m` cannot run it."""


def plan_stubs(units: Iterable[Unit], project: Project, *, force: bool) -> list[OutputChange]:
    """Make the missing and outdated stubs without writing them; raises ConfigurationError."""
    stubs = [
        replace(unit, output=unit.output.with_suffix(STUB_SUFFIX))
        for unit in units
        if not unit.is_copy
    ]
    sources = {stub: read_source(stub) for stub in stubs}
    existing = {stub: read_existing_file(stub.output) for stub in stubs}
    outdated = [
        stub
        for stub in stubs
        if force
        or existing[stub].state != "compiled"
        or existing[stub].header != make_header(sources[stub], project.options)
    ]
    for stub in outdated:
        obstacle = find_overwrite_obstacle(stub.output, existing[stub].state)
        if obstacle and not force:
            raise ConfigurationError(obstacle)
    texts = _generate_stubs([sources[stub] for stub in outdated], project)
    return [
        OutputChange(stub, existing[stub].data, _add_header(text, sources[stub], project))
        for stub, text in zip(outdated, texts, strict=True)
    ]


def _generate_stubs(sources: Sequence[SourceFile], project: Project) -> list[str]:
    if not sources:
        return []
    require_packages("--stubs", "njpy[types]", "mypy")
    with TemporaryDirectory(prefix="njc-stubs-") as temporary:
        folder, out = Path(temporary, "in"), Path(temporary, "out")
        places = [folder / f"source_{number}.py" for number in range(len(sources))]
        folder.mkdir()
        for place, source in zip(places, sources, strict=True):
            rendered = render_for_checker(analyze(source), project.options).rendered
            place.write_bytes(rendered.data)
        command = [sys.executable, "-c", _STUBGEN, "--quiet", "-o", str(out)]
        command += map(str, places)
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        made = [out / place.with_suffix(STUB_SUFFIX).name for place in places]
        if done.returncode or not all(file.is_file() for file in made):
            lines = (done.stderr + done.stdout).strip().splitlines() or ["no output"]
            raise ConfigurationError(f"stubgen of mypy failed: {lines[-1]}")
        return [file.read_text(encoding="utf-8") for file in made]


def _add_header(text: str, source: SourceFile, project: Project) -> bytes:
    head = "".join(f"{line}\n" for line in format_header(make_header(source, project.options)))
    content = (head + text.rstrip("\n") + "\n").encode()
    return content + f"{format_closing_comment('', content)}\n".encode()
