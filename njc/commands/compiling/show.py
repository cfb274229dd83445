"""`njc show --stage blocks|lower FILE`: the natural blocks of a file, or its compiled form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import click

from njc.analysis.block_findings import find_containment_problem
from njc.analysis.contracts import format_assert
from njc.commands.terminal.console import Console
from njc.commands.terminal.flags import (
    FILE,
    TEXT_OR_JSON,
    project_flags,
    resolve_project,
    with_console,
)
from njc.compiler import Compilation
from njc.frontend.blocks import describe_block
from njc.project.build import collect_findings, make_compile_task, read_source
from njc.project.report import format_findings
from njc.project.units import find_units


@click.command("show")
@click.argument("source", metavar="FILE", type=FILE)
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
    source: Path,
    stage: Literal["blocks", "lower"],
    format: Literal["text", "json"],
    **flags: Any,
) -> int:
    """Show the natural blocks of FILE, or its compiled form."""
    project = resolve_project([source], flags)
    (unit,) = find_units([source], project)
    task = make_compile_task(unit, read_source(unit), project)
    compilation = task.compile()
    result = task.make_result(compilation)
    console.findings(format_findings(collect_findings([result], project.warnings), "text"))
    if stage == "blocks":
        descriptions = list(_describe_blocks(compilation))
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


def _describe_blocks(compilation: Compilation) -> Iterator[dict[str, Any]]:
    authorities = compilation.authorities or [None] * len(compilation.blocks)
    contracts = compilation.contracts or [None] * len(compilation.blocks)
    for block, authority, contract in zip(compilation.blocks, authorities, contracts, strict=True):
        scope = f"{block.scope.kind} {block.scope.name}"
        first_line = block.prompt.strip().partition("\n")[0]
        description = describe_block(block) | {"in": scope, "prompt": first_line}
        if block.requires:
            source = compilation.source
            description["requires"] = [format_assert(source, each) for each in block.requires]
        if contract is not None and contract.texts:
            description["ensures"] = list(contract.texts)
        if authority is not None:
            description["jumps"] = list(authority.labels)
            description["effects"] = authority.effects or block.options.effects or ""
            description["because"] = authority.reason
            description["to do without code"] = authority.remedy
            if description["effects"] not in ("answer", "interface"):
                problem = find_containment_problem(block, block.options)
                description["contained"] = problem[0] if problem else "possible"
        yield description


def _format_block(description: Mapping[str, Any]) -> str:
    rows = {
        "reads": " ".join(description["reads"]),
        "writes": " ".join(description["writes"]),
        "requires": "; ".join(description.get("requires", ())),
        "ensures": "; ".join(description.get("ensures", ())),
        "legal": " ".join(description["labels"]),
        "jumps": " ".join(description.get("jumps", ())),
        "effects": description.get("effects", ""),
        "because": description.get("because", ""),
        "remedy": description.get("to do without code", ""),
        "contain": description.get("contained", ""),
        "options": " ".join(f"{name}={value!r}" for name, value in description["options"].items()),
        "prompt": description["prompt"],
    }
    head = f"lines {description['line']}-{description['end_line']}, {description['in']}"
    return "\n".join([head, *(f"  {name:8} {row}" for name, row in rows.items() if row)])
