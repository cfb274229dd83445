"""Stubs for compiled files: `.pyi` files with the types of the variables that natural code binds.

    total: int                    # from a block that binds <:total: int>
    def greet(name: str) -> str: ...

mypy's stubgen makes them from the source with an assignment in place of each output; like compiled
files, they have a header and a digest.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from njc.compiler.analysis.authority import decide_authority
from njc.compiler.analysis.contracts import NO_CONTRACT
from njc.compiler.codegen.emit import find_block_site, find_import_place
from njc.compiler.codegen.header import format_closing_comment, format_header, make_header
from njc.compiler.codegen.lower import Aliases, LoweredBlock, choose_aliases, lower
from njc.compiler.compiler import analyze
from njc.compiler.frontend.source import SourceFile
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
            text = render_for_stubgen(source, project)
            place.write_bytes(text.encode(source.encoding, "backslashreplace"))
        command = [sys.executable, "-c", _STUBGEN, "--quiet", "-o", str(out)]
        command += map(str, places)
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        made = [out / place.with_suffix(STUB_SUFFIX).name for place in places]
        if done.returncode or not all(file.is_file() for file in made):
            lines = (done.stderr + done.stdout).strip().splitlines() or ["no output"]
            raise ConfigurationError(f"stubgen of mypy failed: {lines[-1]}")
        return [file.read_text(encoding="utf-8") for file in made]


def render_for_stubgen(source: SourceFile, project: Project) -> str:
    """Return a source in which a block is its outputs, and its return if it returns a value."""
    analysis = analyze(source)
    module, blocks, types = analysis.module, analysis.blocks, analysis.types
    if module is None or not blocks:
        return source.text
    authorities = [decide_authority(block, types, project.options) for block in blocks]
    aliases = choose_aliases(source.text)
    at, line = find_import_place(module, blocks[0].start, f"import builtins as {aliases.runtime}")
    starts = {block.start for block in blocks}
    declared: set[str] = set()
    pieces, position = [source.text[:at], line], at
    contracts = [NO_CONTRACT] * len(blocks)
    for lowered in lower(
        blocks, authorities, contracts, types, aliases, source.path, project.options
    ):
        site = find_block_site(source, lowered.block, starts)
        pieces += [source.text[position : site.start], site.before]
        pieces += ["; ".join(_render_block(lowered, declared, aliases)), site.after]
        position = site.end
    return "".join([*pieces, source.text[position:]])


def _render_block(lowered: LoweredBlock, declared: set[str], aliases: Aliases) -> list[str]:
    """Return a block's statements; of a module's variables, those new to it have their types."""
    block, value = lowered.block, f"{aliases.runtime}.eval('')"
    outputs = [each for each in block.references if each.writes and each.root != "__class__"]
    types = {each.path: each.type for each in reversed(outputs) if each.type}
    is_module = block.scope.kind == "module"
    known = declared | block.scope.bindings.bound
    statements = []
    for path in dict.fromkeys(each.path for each in outputs):
        is_typed = is_module and path in types and path not in known and "." not in path
        statements.append(f"{path}: {types[path]} = {value}" if is_typed else f"{path} = {value}")
    if is_module:
        declared |= {each.path for each in outputs}
    returns = any(statement.endswith(".value") for _, statement in lowered.arms)
    return [*statements, *([f"return {value}"] if returns else [])] or ["pass"]


def _add_header(text: str, source: SourceFile, project: Project) -> bytes:
    head = "".join(f"{line}\n" for line in format_header(make_header(source, project.options)))
    content = (head + text.rstrip("\n") + "\n").encode()
    return content + f"{format_closing_comment('', content)}\n".encode()
