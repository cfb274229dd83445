"""`njc show --stage blocks|lower FILE`: what the compiler sees in a file, and what it makes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, assert_never

import click

from njc.commands.console import Console
from njc.commands.flags import SOURCE, console_flags, pass_console, project_flags, resolve_project
from njc.compiler import compile_source
from njc.frontend.blocks import NaturalBlock, describe_block
from njc.project.build import CompileTask, collect_findings, make_compile_result, read_source
from njc.project.report import format_findings
from njc.project.units import find_units

CompilerStage = Literal["blocks", "lower"]


@click.command("show")
@SOURCE
@click.option(
    "--stage",
    type=click.Choice(["blocks", "lower"]),
    default="blocks",
    help="`blocks`: each natural block (the default); `lower`: the compiled file.",
)
@click.option(
    "--output-format",
    "format",
    type=click.Choice(["text", "json"]),
    default="text",
    help="How it is written; `text` by default.",
)
@project_flags
@console_flags
@pass_console
@click.pass_context
def command(
    ctx: click.Context,
    console: Console,
    /,
    source: Path,
    stage: CompilerStage,
    format: Literal["text", "json"],
    **flags: Any,
) -> None:
    """Show how njc understands FILE."""
    project = resolve_project([source], flags)
    (unit,) = find_units([source], project)
    task = CompileTask(unit, read_source(unit), project.options, thorough=True)
    compilation = compile_source(task.source, project=task.options)
    result = make_compile_result(task, compilation)
    console.findings(format_findings(collect_findings([result], project.warnings), "text"))
    match stage:
        case "blocks":
            if format == "json":
                console.result(_to_json([describe_block(each) for each in compilation.blocks]))
            else:
                console.result("\n\n".join(map(_format_block, compilation.blocks)))
        case "lower" if result.output is not None:
            text = result.output.decode(task.source.encoding)
            console.result(_to_json({"compiled": text}) if format == "json" else text.rstrip("\n"))
        case "lower":
            pass
        case _:
            assert_never(stage)
    ctx.exit(int(result.output is None))


def _to_json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _format_block(block: NaturalBlock) -> str:
    """Write a block as its place and a few rows, the prompt's first line last."""
    said = describe_block(block)
    rows = {
        "reads": " ".join(said["reads"]),
        "writes": " ".join(said["writes"]),
        "labels": " ".join(said["labels"]),
        "options": " ".join(f"{name}={value!r}" for name, value in said["options"].items()),
        "prompt": block.prompt.strip().partition("\n")[0],
    }
    head = f"lines {block.line}-{block.end_line}, {block.scope.kind} {block.scope.name}"
    return "\n".join([head, *(f"  {name:8} {row}" for name, row in rows.items() if row)])
