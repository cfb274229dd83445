"""`njc show --stage blocks|lower FILE`: the natural blocks of a file, or its compiled form.

njc show --line out/mail.py:41       src/mail.njpy:37, the source of a compiled line
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import click

from njc.commands.terminal.console import Console
from njc.commands.terminal.flags import (
    FILE,
    TEXT_OR_JSON,
    project_flags,
    refuse_options,
    resolve_project,
    with_console,
)
from njc.compiler.analysis.containment import find_uncontained
from njc.compiler.analysis.contracts import format_assert
from njc.compiler.analysis.decisions import is_decision
from njc.compiler.analysis.inference import TypeReader
from njc.compiler.codegen.header import is_intact, parse_header
from njc.compiler.codegen.linemap import parse_line_map
from njc.compiler.codegen.output_types import find_chosen_outputs
from njc.compiler.compiler import Compilation
from njc.compiler.frontend.blocks import NaturalBlock, collect_block_outputs
from njc.project.build import CompileTask, collect_findings, read_source
from njc.project.config import Project
from njc.project.report import format_findings
from njc.project.units import SUFFIX, find_units, format_path, read_file
from njrt.data.options import DEFAULTS, OPTION_NAMES, Options, merge_option_layers
from njrt.errors import ConfigurationError


@click.command("show")
@click.argument("file", metavar="[FILE]", type=FILE, required=False)
@click.option("--line", metavar="FILE:LINE", help="Name the source of a compiled line.")
@click.option(
    "--stage",
    type=click.Choice(["blocks", "lower"]),
    default="blocks",
    help="Natural blocks (default) or the compiled file.",
)
@TEXT_OR_JSON
@project_flags
@with_console
def command(
    console: Console,
    file: Path | None,
    line: str | None,
    stage: Literal["blocks", "lower"],
    format: Literal["text", "json"],
    **flags: Any,
) -> int:
    """Show the natural blocks of FILE, or its compiled form."""
    if line is not None:
        refuse_options("cannot be given with --line", "file", "stage", "format")
        place, number = _parse_place(line)
        found, at = find_source(place, number, resolve_project([place], flags))
        console.result(f"{format_path(found)}:{at}")
        return 0
    if file is None:
        raise ConfigurationError(
            "name a file: njc show FILE, or a place: njc show --line FILE:LINE"
        )
    project = resolve_project([file], flags)
    (unit,) = find_units([file], project)
    task = CompileTask(unit, read_source(unit), project.options)
    compilation = task.compile()
    result = task.make_result(compilation)
    console.findings(format_findings(collect_findings([result], project.warnings), "text"))
    if stage == "blocks":
        descriptions = list(_describe_blocks(compilation, project.options))
        if format == "json":
            console.json(descriptions)
        else:
            console.result("\n\n".join(map(_format_block, descriptions)))
    elif result.output is not None:
        text = result.output.decode(task.source.encoding)
        if format == "json":
            console.json({"compiled": text})
        else:
            console.result(text.rstrip("\n"))
    return int(result.output is None)


_CHANGES_AND_CALLS = (
    "it may change objects and make calls; if its inputs are not trusted, decide about the calls "
    "(@njrt.gated) or the changes (njrt.approve(changes=True))"
)


def _describe_blocks(compilation: Compilation, project: Options) -> Iterator[dict[str, Any]]:
    if not compilation.blocks:
        return  # its text may have no encoding
    types = TypeReader(
        collect_block_outputs(compilation.blocks), compilation.source.text, compilation.blocks
    )
    authorities = compilation.authorities or [None] * len(compilation.blocks)
    contracts = compilation.contracts or [None] * len(compilation.blocks)
    for block, authority, contract in zip(compilation.blocks, authorities, contracts, strict=True):
        scope = f"{block.scope.kind} {block.scope.name}"
        first_line, *more = block.prompt.strip().split("\n")
        first_line += " ..." * bool(more)
        description = describe_source(block) | {"in": scope, "prompt": first_line}
        if block.requires:
            source = compilation.source
            description["requires"] = [format_assert(source, each) for each in block.requires]
        if contract is not None and contract.texts:
            description["ensures"] = list(contract.texts)
        if authority is not None:
            description["jumps"] = list(authority.labels)
            description["effects"] = authority.effects or block.options.effects or ""
            description["decision"] = description["effects"] == "answer" and (
                is_decision(block, authority, types, find_chosen_outputs(block, types))
            )
            description["because"] = authority.reason
            description["to do without code"] = authority.remedy
            if description["effects"] not in ("answer", "interface"):
                options = merge_option_layers(block.options, project, DEFAULTS)
                found = find_uncontained(block, types, compilation.source.path, options)
                description["policy"] = options.policy or "auto"
                if options.mode != "static":  # whose code is part of the program
                    description["with auto"] = f"guarded: {found.reason}" if found else "contained"
                inputs = [it.reason for it in authority.obstacles if it.is_input]
                changed = [it.removeprefix("it may change ") for it in inputs]
                description["may change"] = [*block.writes, *changed]
                called = [it.reason for it in authority.obstacles if it.is_call]
                named = (it.removeprefix("it may use ").removeprefix("it may ") for it in called)
                description["may call"] = list(named)
                if changed and called:
                    description["warning"] = _CHANGES_AND_CALLS
        yield description


def _format_block(description: Mapping[str, Any]) -> str:
    rows = {
        "reads": " ".join(description["reads"]),
        "writes": " ".join(description["writes"]),
        "requires": "; ".join(description.get("requires", ())),
        "ensures": "; ".join(description.get("ensures", ())),
        "jumps": _format_jumps(description.get("jumps", ()), description["labels"]),
        "effects": description.get("effects", "")
        + " (decision)" * description.get("decision", False),
        "because": description.get("because", ""),
        "remedy": description.get("to do without code", ""),
        "policy": description.get("policy", ""),
        "auto": description.get("with auto", ""),
        "change": "; ".join(description.get("may change", ())),
        "call": "; ".join(description.get("may call", ())),
        "warning": description.get("warning", ""),
        "options": " ".join(f"{name}={value!r}" for name, value in description["options"].items()),
        "prompt": description["prompt"],
    }
    head = f"lines {description['line']}-{description['end_line']}, {description['in']}"
    return "\n".join([head, *(f"  {name:8} {row}" for name, row in rows.items() if row)])


def _format_jumps(offered: Iterable[str], possible: Iterable[str]) -> str:
    """Return the jumps that a block's text names, and those that are possible at its place."""
    return f"{' '.join(offered) or 'none'} (possible here: {' '.join(possible)})"


def _parse_place(place: str) -> tuple[Path, int]:
    """Read `FILE:LINE`, or `FILE:LINE:COLUMN`, which tools print."""
    found = re.fullmatch(r"(.+?):(0*[1-9]\d{0,8})(?::[^:]*)?", place)
    if found is None:
        raise ConfigurationError(f"`{place}` is not a place; write FILE:LINE, such as mail.py:41")
    return Path(found[1]), int(found[2])


def find_source(file: Path, line: int, project: Project) -> tuple[Path, int]:
    """Map a compiled line to its source line; raises ConfigurationError for other files."""
    data = read_file(file)
    if line > (count := len(data.splitlines()) + 1):
        raise ConfigurationError(f"{format_path(file)} has no line {line}; its last is {count}")
    header, line_map = parse_header(data), parse_line_map(data)
    problem = "was edited after the build" if header else "was not compiled by njc"
    if header is None or line_map is None or not is_intact(data):
        raise ConfigurationError(f"{format_path(file)} {problem}; build it again")
    beside = file.absolute().with_suffix(SUFFIX)
    candidates = [*(root / header.path for root in project.src), beside]
    source = next((place for place in candidates if place.exists()), Path(header.path))
    return source, line_map.find_source_line(line)


def describe_source(block: NaturalBlock) -> dict[str, Any]:
    """Describe a block as plain data, for `--stage blocks --output-format json`."""
    return {
        "line": block.line,
        "end_line": block.end_line,
        "reads": list(block.reads),
        "writes": list(block.writes),
        "labels": list(block.labels),
        "scope": block.scope.kind,
        **({"interface": block.interface.path} if block.interface else {}),
        "options": {
            name: value
            for name in OPTION_NAMES
            if (value := getattr(block.options, name)) is not None
        }
        | ({"ahead": block.ahead} if block.ahead else {}),
    }
